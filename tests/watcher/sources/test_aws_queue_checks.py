"""What the doctor says of a queue: a door that lets in, refuses, or is not there."""

import os

import pytest

from tests.support.scripted_sqs import Answering, said, scripted_sqs
from watcher.finding import Verdict
from watcher.sources import aws_queue_checks as aws_queue
from watcher.sources.aws_config import AwsConfig

URL = "https://sqs.us-east-1.amazonaws.com/123456789012/reprieve-node-a"
NO_FILES = {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}

REFUSED = {
    "Successful": [],
    "Failed": [{"Id": "0", "SenderFault": True, "Code": "ReceiptHandleIsInvalid"}],
}


async def test_queue_is_ok_when_only_the_receipt_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both verbs were let in, and no message was taken."""
    async with scripted_sqs(said(REFUSED), monkeypatch) as sqs:
        finding = await aws_queue.permission(AwsConfig(queue_url=URL))
    assert finding.verdict is Verdict.OK, finding
    assert sqs.asked == ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "allow sqs:ReceiveMessage"),
        ("QueueDoesNotExist", "look at aws.queue_url"),
        ("InvalidClientTokenId", "give the instance or the pod a role"),
        ("ExpiredTokenException", "renew the credentials, or take them out of"),
        ("com.amazon.coral.service#ExpiredToken", "renew the credentials, or take them out of"),
        ("InternalFailure", "reach the SQS endpoint"),
    ],
)
async def test_queue_is_wrong_in_words_of_its_own_when_the_call_is_refused(
    monkeypatch: pytest.MonkeyPatch, code: str, words: str
) -> None:
    """The permission, the name, the credentials: each is mended by somebody else."""
    refusal = {"__type": f"com.amazonaws.sqs#{code}", "message": "no"}
    async with scripted_sqs(said(refusal, status=400), monkeypatch):
        finding = await aws_queue.permission(AwsConfig(queue_url=URL))
    assert finding.verdict is Verdict.WRONG
    assert words in finding.todo


@pytest.mark.parametrize(
    "answer",
    [
        said("<html>Sign in</html>", headers={}),
        said(REFUSED, headers={}),
        said({}),
        said({"Successful": [{"Id": "0"}]}),
        said({"Failed": [{"Id": "0", "SenderFault": False, "Code": "InternalError"}]}),
    ],
)
async def test_queue_is_wrong_when_something_else_than_sqs_answers(
    monkeypatch: pytest.MonkeyPatch, answer: Answering
) -> None:
    """Only a refusal of the receipt shows that SQS has looked at it."""
    async with scripted_sqs(answer, monkeypatch):
        finding = await aws_queue.permission(AwsConfig(queue_url=URL))
    assert finding.verdict is Verdict.WRONG
    assert "reach the SQS endpoint" in finding.todo


@pytest.mark.parametrize(
    ("variables", "url", "found", "todo"),
    [
        (
            {"AWS_SECRET_ACCESS_KEY": "test"},
            "http://127.0.0.1:9/123456789012/a",
            "must specify a region",
            "set AWS_DEFAULT_REGION",
        ),
        (
            {},
            URL,
            "Partial credentials",
            "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither",
        ),
        (
            {"AWS_SECRET_ACCESS_KEY": "test", "AWS_PROFILE": "nobodys"},
            URL,
            "profile (nobodys) could not be found",
            "let AWS_PROFILE name a profile",
        ),
    ],
    ids=["no region", "partial credentials", "unknown profile"],
)
async def test_queue_is_wrong_in_words_of_its_own_when_aws_is_not_set_up(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    url: str,
    found: str,
    todo: str,
) -> None:
    """What boto3 says, and one sentence on what to do; AWS is not asked."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in {**NO_FILES, "AWS_ACCESS_KEY_ID": "test", **variables}.items():
        monkeypatch.setenv(name, value)
    finding = await aws_queue.permission(AwsConfig(queue_url=url))
    assert finding.verdict is Verdict.WRONG
    assert found in finding.found
    assert finding.todo.startswith(todo)


async def test_queue_needs_nothing_when_none_is_set() -> None:
    """The base install is enough for the metadata service."""
    findings = [await check(AwsConfig()) for check in aws_queue.CHECKS]
    assert [one.verdict for one in findings] == [Verdict.OK, Verdict.OK]


async def test_extra_is_named_when_boto3_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the command that mends it."""
    monkeypatch.setattr("watcher.sources.aws_queue_checks.find_spec", lambda _name: None)
    findings = [await check(AwsConfig(queue_url=URL)) for check in aws_queue.CHECKS]
    assert [one.verdict for one in findings] == [Verdict.WRONG, Verdict.UNKNOWN]
    assert findings[0].todo == "pip install 'reprieve[aws]'"
