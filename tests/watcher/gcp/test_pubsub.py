"""A subscription: against Google's emulator, and against what that can't be made to say."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.clocks import TurnedClock
from tests.support.pubsub_emulator import Emulator, Subscribed
from tests.support.scripted_google import HANG, ScriptedGoogle
from watcher.custody import Message
from watcher.errors import GcpCallFailed
from watcher.gcp import pubsub
from watcher.gcp.metadata import GcpMetadata
from watcher.gcp.pubsub import ANSWER_LIMIT_BYTES, Subscription
from watcher.gcp.rest import GoogleApi
from watcher.httpclient import HttpClient

NAME = "projects/my-proj/subscriptions/node-1"
PULL = f"/v1/{NAME}:pull"


@asynccontextmanager
async def subscription(
    google: ScriptedGoogle, clock: TurnedClock, url: str = "", name: str = NAME
) -> AsyncIterator[Subscription]:
    """Give what is tested."""
    url = url or google.url
    async with (
        HttpClient(google.url) as server,
        HttpClient(url, 5.0, body_limit_bytes=ANSWER_LIMIT_BYTES) as pulling,
        HttpClient(url, 5.0) as telling,
    ):
        metadata = GcpMetadata(server, clock)
        yield Subscription(name, GoogleApi(pulling, metadata), GoogleApi(telling, metadata))


@pytest.fixture
async def subscribed(emulator: Emulator) -> Subscribed:
    """A subscription of the test's own at the emulator."""
    return await emulator.subscription()


@pytest.mark.e2e
async def test_message_is_received_and_gone_when_it_is_acknowledged(
    google: ScriptedGoogle, clock: TurnedClock, subscribed: Subscribed
) -> None:
    """As Google's own emulator has it."""
    url = subscribed.emulator.url
    async with subscription(google, clock, url, subscribed.name) as queue:
        await subscribed.publish("héllo")
        (message,) = await queue.receive(wait_s=1, visibility_s=10)
        assert (message.body, message.receipts) == ("héllo", 0)
        assert await queue.receive(wait_s=0, visibility_s=10) == []
        assert await queue.hide([message.handle], visibility_s=0) == {}
        (again,) = await queue.receive(wait_s=1, visibility_s=10)
        assert again.id == message.id
        assert again.handle != message.handle
        assert await queue.delete([again.handle]) == {}
        assert await subscribed.waiting() == 0


@pytest.mark.e2e
async def test_wait_ends_with_the_first_message_when_there_is_none_at_first(
    google: ScriptedGoogle, clock: TurnedClock, subscribed: Subscribed
) -> None:
    """And an acknowledgement does not stand behind it."""
    url = subscribed.emulator.url
    async with subscription(google, clock, url, subscribed.name) as queue:
        await subscribed.publish("one")
        (one,) = await queue.receive(wait_s=1, visibility_s=10)
        waiting = asyncio.create_task(queue.receive(wait_s=1, visibility_s=10))
        await queue.delete([one.handle])
        assert not waiting.done()
        await subscribed.publish("two")
        (two,) = await waiting
    assert two.body == "two"


@pytest.mark.e2e
async def test_many_messages_come_in_batches_when_they_are_waiting(
    google: ScriptedGoogle, clock: TurnedClock, subscribed: Subscribed
) -> None:
    """Ten at most, as the receipts go into one call."""
    url = subscribed.emulator.url
    async with subscription(google, clock, url, subscribed.name) as queue:
        await subscribed.publish(*(str(number) for number in range(25)))
        bodies = set[str]()
        while len(bodies) < 25:
            messages = await queue.receive(wait_s=1, visibility_s=10)
            assert 0 < len(messages) <= 10
            bodies |= {message.body for message in messages}
            await queue.delete([message.handle for message in messages])
        assert await subscribed.waiting() == 0


@pytest.mark.e2e
async def test_absence_is_unknown_when_there_is_no_such_subscription(
    google: ScriptedGoogle, clock: TurnedClock, emulator: Emulator
) -> None:
    """A name that is mistyped is not an empty queue."""
    async with subscription(google, clock, emulator.url) as queue:
        with pytest.raises(GcpCallFailed) as caught:
            await queue.receive(wait_s=1, visibility_s=10)
    assert (caught.value.outcome, caught.value.code) == ("not_found", "NOT_FOUND")


async def test_one_pull_that_does_not_wait_answers_when_a_wait_has_ended_without_an_answer(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """Pub/Sub ends a wait as it likes; that there is nothing is learnt from a whole answer."""
    nothing = (504, {"error": {"code": 504, "status": "DEADLINE_EXCEEDED"}})
    google.play(PULL, nothing, (200, {}), nothing, (503, {}))
    async with subscription(google, clock) as queue:
        assert await queue.receive(wait_s=1, visibility_s=10) == []
        with pytest.raises(GcpCallFailed, match="503"):
            await queue.receive(wait_s=1, visibility_s=10)
    asked = [one.said for one in google.of(PULL)]
    assert asked[:2] == [{"maxMessages": 10}, {"maxMessages": 10, "returnImmediately": True}]


async def test_one_pull_that_does_not_wait_answers_when_nobody_ends_a_wait(
    google: ScriptedGoogle, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection may have died under it, or Pub/Sub have more patience than we."""
    monkeypatch.setattr(pubsub, "PULL_LIMIT_S", 0.05)
    google.play(PULL, HANG, (200, {}))
    async with subscription(google, clock) as queue:
        assert await queue.receive(wait_s=1, visibility_s=10) == []


async def test_refusal_of_a_wait_stands_when_it_is_one(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """Asking once more would only cost."""
    google.play(PULL, (403, {}))
    async with subscription(google, clock) as queue:
        with pytest.raises(GcpCallFailed):
            await queue.receive(wait_s=1, visibility_s=10)
    assert len(google.of(PULL)) == 1


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ({"data": base64.b64encode(b"{}").decode()}, "{}"),
        ({"data": base64.b64encode(b"\xff\xfe").decode()}, "��"),
        ({"data": "no base64!"}, ""),
        ({"data": "ü"}, ""),
        ({"data": 5}, ""),
        ({}, ""),
    ],
)
async def test_message_is_there_when_its_data_is_odd(
    google: ScriptedGoogle, clock: TurnedClock, message: dict[str, object], body: str
) -> None:
    """It will be refused with a line in the log, and must not hold up what came with it."""
    received = {"ackId": "ack", "message": message | {"messageId": "1"}, "deliveryAttempt": 3}
    google.play(PULL, (200, {"receivedMessages": [received]}))
    async with subscription(google, clock) as queue:
        assert await queue.receive(wait_s=1, visibility_s=10) == [Message("1", "ack", body, 3)]


@pytest.mark.parametrize(
    "answer",
    [
        {"receivedMessages": None},
        {"receivedMessages": {}},
        {"receivedMessages": ["text"]},
        {"receivedMessages": [{"ackId": "a"}]},
        {"receivedMessages": [{"ackId": "a", "message": []}]},
        {"receivedMessages": [{"ackId": 5, "message": {"messageId": "1"}}]},
        {"receivedMessages": [{"ackId": "a", "message": {"messageId": 1}}]},
    ],
)
async def test_absence_is_unknown_when_the_answer_is_odd(
    google: ScriptedGoogle, clock: TurnedClock, answer: object
) -> None:
    """It is not Pub/Sub's."""
    google.play(PULL, (200, answer))
    async with subscription(google, clock) as queue:
        with pytest.raises(GcpCallFailed) as caught:
            await queue.receive(wait_s=1, visibility_s=10)
    assert caught.value.outcome == "malformed"
