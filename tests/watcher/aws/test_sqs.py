"""One queue, against moto's SQS and against nobody."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.moto_aws import Moto
from watcher.aws.sqs import SqsQueue, region_of
from watcher.errors import AwsCallFailed


@pytest.fixture
def url(moto: Moto) -> str:
    """A queue with nothing in it."""
    return moto.queue()


@pytest.fixture
def queue(url: str) -> Iterator[SqsQueue]:
    """The same, as the daemon sees it."""
    with closing(SqsQueue(url)) as made:
        yield made


async def test_message_is_hidden_and_then_gone_when_it_is_received_and_deleted(
    moto: Moto, url: str, queue: SqsQueue
) -> None:
    """Nobody else sees it meanwhile, and nobody at all after that."""
    await asyncio.to_thread(moto.send, url, ["hello"])
    [message] = await queue.receive(wait_s=0, visibility_s=30)
    assert (message.body, message.receipts) == ("hello", 1)
    assert await queue.receive(wait_s=0, visibility_s=30) == []
    assert await queue.delete([message.handle]) == {}
    await moto.becomes(url, (0, 0))


async def test_message_is_seen_again_when_its_visibility_is_over(
    moto: Moto, url: str, queue: SqsQueue
) -> None:
    """It counts its receipts, and only the newest handle is good."""
    await asyncio.to_thread(moto.send, url, ["hello"])
    [first] = await queue.receive(wait_s=0, visibility_s=30)
    assert await queue.hide([first.handle], visibility_s=0) == {}
    [second] = await queue.receive(wait_s=0, visibility_s=30)
    assert (second.id, second.receipts) == (first.id, 2)


async def test_queue_says_which_message_it_can_not_hide_when_that_is_gone(
    moto: Moto, url: str, queue: SqsQueue
) -> None:
    """The others of the same call are hidden all the same."""
    await asyncio.to_thread(moto.send, url, ["one", "two"])
    one, two = await queue.receive(wait_s=0, visibility_s=30)
    await queue.delete([one.handle])
    refused = await queue.hide([one.handle, two.handle], visibility_s=30)
    assert refused.keys() == {one.handle}


@pytest.mark.parametrize(
    ("variable", "value", "outcome"),
    [
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9", "connection"),
        ("AWS_ENDPOINT_URL", None, "no_queue"),
    ],
)
async def test_call_fails_in_our_words_when_the_queue_can_not_be_had(
    moto: Moto,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str | None,
    outcome: str,
) -> None:
    """Nobody listens there, or nobody knows the queue; both leave it unknown what is in it."""
    monkeypatch.setenv(variable, value or moto.url)
    with closing(SqsQueue(f"{moto.url}/123456789012/no-such-queue")) as queue:
        with pytest.raises(AwsCallFailed, match="SQS ReceiveMessage") as failure:
            await queue.receive(wait_s=0, visibility_s=30)
        assert failure.value.outcome == outcome


async def test_call_fails_in_our_words_when_there_are_no_credentials(
    moto: Moto, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """A person reads what is missing; the metadata service is not asked in this test."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    del moto
    with closing(SqsQueue(url)) as queue:
        with pytest.raises(AwsCallFailed, match="give the instance a role") as failure:
            await queue.receive(wait_s=0, visibility_s=30)
        assert failure.value.outcome == "credentials"


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://sqs.eu-central-1.amazonaws.com/123456789012/reprieve", "eu-central-1"),
        ("https://sqs.us-gov-west-1.amazonaws.com/123456789012/reprieve", "us-gov-west-1"),
        ("https://sqs.cn-north-1.amazonaws.com.cn/123456789012/reprieve", "cn-north-1"),
        ("https://us-west-2.queue.amazonaws.com/123456789012/reprieve", "us-west-2"),
        ("https://sqs-fips.us-east-1.amazonaws.com/123456789012/reprieve", "us-east-1"),
        ("https://sqs.us-east-1.api.aws/123456789012/reprieve", "us-east-1"),
        ("https://sqs.eusc-de-east-1.amazonaws.eu/123456789012/reprieve", "eusc-de-east-1"),
        ("https://sqs.us-iso-east-1.c2s.ic.gov/123456789012/reprieve", "us-iso-east-1"),
        (
            "https://vpce-0abc-1x2y3z.sqs.us-east-1.vpce.amazonaws.com/123456789012/reprieve",
            "us-east-1",
        ),
        (
            "https://vpce-0abc-1x2y-eu-west-1b.sqs.eu-west-1.vpce.amazonaws.com/123456789012/q",
            "eu-west-1",
        ),
        ("https://sqs.example.com/us-east-1.queue.x/reprieve", None),
        ("http://127.0.0.1:4566/123456789012/reprieve", None),
        ("http://localhost/123456789012/reprieve", None),
    ],
)
def test_region_is_read_from_the_url_when_it_is_there(url: str, region: str | None) -> None:
    """Else the environment has to say it, as for every program that uses boto3."""
    assert region_of(url) == region
