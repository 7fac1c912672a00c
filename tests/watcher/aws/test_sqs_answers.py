"""What counts as SQS's answer, and what answers in its place."""

from contextlib import closing

import pytest

from tests.support.scripted_sqs import Answering, said, scripted_sqs
from watcher.aws.sqs import SqsQueue
from watcher.errors import AwsCallFailed

PAGE = "<html><body>Please sign in to the hotel's network</body></html>"
NOT_SQS = [said(PAGE, headers={}), said({}, headers={}), said({"Messages": []}, headers={})]
"""A captive portal, and proxies that mean well."""


def entries(*numbers: int) -> list[dict[str, str]]:
    """Build the entries of a batch's answer."""
    return [{"Id": str(number), "Code": "ReceiptHandleIsInvalid"} for number in numbers]


@pytest.mark.parametrize("answer", NOT_SQS)
async def test_receive_fails_when_200_is_not_from_sqs(
    answer: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read as "no messages" it would make a blind node look well."""
    async with scripted_sqs(answer, monkeypatch) as sqs:
        with closing(SqsQueue(sqs.url)) as queue:
            with pytest.raises(AwsCallFailed, match="not SQS's answer") as failure:
                await queue.receive(wait_s=0, visibility_s=30)
            assert failure.value.outcome == "malformed"


async def test_queue_is_empty_when_sqs_itself_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer without messages has no key for them; the header is what tells it apart."""
    async with scripted_sqs(said({}), monkeypatch) as sqs:
        with closing(SqsQueue(sqs.url)) as queue:
            assert await queue.receive(wait_s=0, visibility_s=30) == []


@pytest.mark.parametrize(
    "answer",
    [
        *NOT_SQS,
        said({}),
        said({"Successful": entries(0)}),
        said({"Successful": entries(0), "Failed": entries(2)}),
        said({"Successful": entries(0, 1, 2)}),
        said({"Failed": [{"Id": "0"}, {"Id": "1"}]}),
    ],
)
async def test_batch_fails_when_its_answer_leaves_an_entry_open(
    answer: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither done nor refused: it is unknown, and what was to be deleted comes back."""
    async with scripted_sqs(answer, monkeypatch) as sqs:
        with closing(SqsQueue(sqs.url)) as queue:
            for call in (queue.delete(["a", "b"]), queue.hide(["a", "b"], visibility_s=30)):
                with pytest.raises(AwsCallFailed) as failure:
                    await call
                assert failure.value.outcome == "malformed"
    assert sqs.asked == ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"]


async def test_batch_tells_which_entry_was_refused_when_every_one_is_answered_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By its receipt, with SQS's code."""
    answer = said({"Successful": entries(0), "Failed": entries(1)})
    async with scripted_sqs(answer, monkeypatch) as sqs:
        with closing(SqsQueue(sqs.url)) as queue:
            assert await queue.delete(["a", "b"]) == {"b": "ReceiptHandleIsInvalid"}
