"""What the doctor says of a queue: a door that lets in, refuses, or is not there."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from watcher.doctor import aws_queue
from watcher.doctor.finding import Verdict
from watcher.sources.aws_config import AwsConfig

URL = "https://sqs.us-east-1.amazonaws.com/123456789012/reprieve-node-a"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let boto3 sign with something."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@asynccontextmanager
async def sqs(status: int, body: object) -> AsyncIterator[tuple[str, list[str]]]:
    """Run an SQS that gives every call this answer; give its URL, and what it is asked to do."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.headers["X-Amz-Target"].rpartition(".")[2])
        return web.Response(
            status=status, text=json.dumps(body), content_type="application/x-amz-json-1.0"
        )

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield "http://{}:{}".format(*runner.addresses[0][:2]), asked
    await runner.cleanup()


REFUSED = {
    "Successful": [],
    "Failed": [{"Id": "0", "SenderFault": True, "Code": "ReceiptHandleIsInvalid"}],
}


async def test_queue_is_ok_when_only_the_receipt_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both verbs were let in, and no message was taken."""
    async with sqs(200, REFUSED) as (url, asked):
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", url)
        finding = await aws_queue.permission(AwsConfig(queue_url=URL))
    assert finding.verdict is Verdict.OK, finding
    assert asked == ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "allow sqs:ReceiveMessage"),
        ("QueueDoesNotExist", "look at aws.queue_url"),
        ("InvalidClientTokenId", "a role"),
        ("InternalFailure", "reach the SQS endpoint"),
    ],
)
async def test_queue_is_wrong_in_words_of_its_own_when_the_call_is_refused(
    monkeypatch: pytest.MonkeyPatch, code: str, words: str
) -> None:
    """The permission, the name, the credentials: each is mended by somebody else."""
    refusal = {"__type": f"com.amazonaws.sqs#{code}", "message": "no"}
    async with sqs(400, refusal) as (url, _):
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", url)
        finding = await aws_queue.permission(AwsConfig(queue_url=URL))
    assert finding.verdict is Verdict.WRONG
    assert words in finding.todo


async def test_queue_needs_nothing_when_none_is_set() -> None:
    """The base install is enough for the metadata service."""
    findings = [await check(AwsConfig()) for check in aws_queue.CHECKS]
    assert [one.verdict for one in findings] == [Verdict.OK, Verdict.OK]


async def test_extra_is_named_when_boto3_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the command that mends it."""
    monkeypatch.setattr("watcher.doctor.aws_queue.find_spec", lambda _name: None)
    findings = [await check(AwsConfig(queue_url=URL)) for check in aws_queue.CHECKS]
    assert [one.verdict for one in findings] == [Verdict.WRONG, Verdict.UNKNOWN]
    assert findings[0].todo == "pip install 'reprieve[aws]'"
