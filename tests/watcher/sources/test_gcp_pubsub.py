"""A VM's subscription, against Google's emulator: what is heard, kept, acknowledged and left."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.gcp_bodies import body, changed
from tests.support.pubsub_emulator import Emulator, Subscribed
from tests.support.running import running
from tests.support.scripted_google import ScriptedGoogle
from watcher.custody import Custody
from watcher.gcp.metadata import GcpMetadata
from watcher.gcp.pubsub import Subscription
from watcher.gcp.rest import GoogleApi
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind, rfc3339
from watcher.sources.gcp_entry import parse_entry
from watcher.sources.gcp_pubsub import OVER_AFTER_S, VISIBILITY_S, WAIT_S, GcpPubsub, Hands
from watcher.sources.intake import Intake
from watcher.sources.reception import KEY, Reception
from watcher.supervise import keep_running

PREEMPTED = "entry-preempted"
OTHER = changed(PREEMPTED, "resource/labels/instance_id", "99")

pytestmark = pytest.mark.e2e


def another(name: str) -> str:
    """Return another preemption of this VM."""
    return json.dumps(changed(PREEMPTED, "operation/id", name))


class Ears:
    """The source, what it works with, and what it has heard."""

    def __init__(
        self, google: ScriptedGoogle, subscribed: Subscribed, metadata: GcpMetadata
    ) -> None:
        self.google, self.subscribed, self.metadata = google, subscribed, metadata
        self.clock = TurnedClock()
        self.metrics = Metrics()
        self.inbox: asyncio.Queue[Notice] = asyncio.Queue()
        self.health = SourceHealth(GcpPubsub.name, GcpPubsub.keys, self.clock(), self.metrics)
        self.hands: Hands

    def source(self, *adopted: Notice) -> GcpPubsub:
        """Build the source."""
        return GcpPubsub(self.hands, self.metadata, self.health, self.clock, adopted)

    async def heard(self) -> Notice:
        """Return the next notice."""
        async with asyncio.timeout(20):
            return await self.inbox.get()

    async def told(self, verdict: str, times: int = 1) -> None:
        """Wait until so many messages were given a verdict."""
        await eventually(lambda: self.count(verdict) >= times)

    def count(self, verdict: str) -> float:
        """Return how many messages were given a verdict."""
        name = "reprieve_messages_total"
        return self.metrics.registry.get_sample_value(name, {"verdict": verdict}) or 0


@pytest.fixture
async def ears(emulator: Emulator, google: ScriptedGoogle) -> AsyncIterator[Ears]:
    """A VM with an empty subscription, whose custody is at work."""
    subscribed = await emulator.subscription()
    async with (
        HttpClient(google.url) as server,
        HttpClient(emulator.url, 5.0) as pulling,
        HttpClient(emulator.url, 5.0) as telling,
    ):
        metadata = GcpMetadata(server, TurnedClock())
        made = Ears(google, subscribed, metadata)
        queue = Subscription(
            subscribed.name, GoogleApi(pulling, metadata), GoogleApi(telling, metadata)
        )
        made.hands = Hands(
            reception=Reception(queue, WAIT_S, made.health, made.clock),
            custody=Custody(queue, VISIBILITY_S, made.metrics.messages_held),
            intake=Intake(parse_entry, made.metrics, made.clock),
        )
        async with running(made.hands.custody.keep()):
            yield made


@asynccontextmanager
async def hearing(ears: Ears, source: GcpPubsub) -> AsyncIterator[GcpPubsub]:
    """Let the source hear inside the block."""
    async with running(keep_running(source, ears.inbox, ears.clock)):
        yield source


async def test_message_is_acknowledged_only_when_its_notice_is(ears: Ears) -> None:
    """Until then it is kept, so that a daemon that dies hears it again."""
    async with hearing(ears, ears.source()) as source:
        await ears.subscribed.publish(body(PREEMPTED))
        notice = await ears.heard()
        assert notice.kind is NoticeKind.PREEMPTION
        custody = ears.hands.custody
        assert custody.count == 1
        source.acknowledge(notice)
        await custody.emptied()
    assert await ears.subscribed.waiting() == 0


async def test_message_about_another_vm_is_left_when_it_is_in_our_subscription(ears: Ears) -> None:
    """It is neither kept from others nor acknowledged, and what comes with it is heard."""
    async with hearing(ears, ears.source()):
        await ears.subscribed.publish(json.dumps(OTHER), body(PREEMPTED))
        await ears.heard()
        await ears.told("foreign")
        assert ears.hands.custody.count == 1
        assert ears.inbox.empty()


async def test_message_from_before_this_boot_is_acknowledged_and_no_notice(
    ears: Ears, caplog: pytest.LogCaptureFixture
) -> None:
    """A VM that was stopped and started again has the same id; the line says how it ended."""
    caplog.set_level("INFO")
    booted = ears.clock().wall - timedelta(seconds=ears.clock().boottime_s)
    before = rfc3339(booted - timedelta(seconds=1))
    async with hearing(ears, ears.source()):
        await ears.subscribed.publish(json.dumps(changed(PREEMPTED, "timestamp", before)))
        await ears.told("ignored_before_boot")
        await ears.hands.custody.emptied()
        assert ears.inbox.empty()
    assert await ears.subscribed.waiting() == 0
    assert "kind=preemption" in caplog.text


async def test_notice_is_heard_once_when_it_is_said_twice_and_late(ears: Ears) -> None:
    """A duplicate waits for the work on the first; one that comes after it is acknowledged."""
    async with hearing(ears, ears.source()) as source:
        await ears.subscribed.publish(body(PREEMPTED), body(PREEMPTED))
        notice = await ears.heard()
        await ears.told("duplicate")
        assert ears.hands.custody.count == 2
        source.acknowledge(notice)
        await ears.subscribed.publish(body(PREEMPTED))
        await ears.told("duplicate", 2)
        await ears.hands.custody.emptied()
        assert ears.inbox.empty()
    assert await ears.subscribed.waiting() == 0


async def test_message_is_acknowledged_when_an_earlier_run_had_its_notice_in_force(
    ears: Ears,
) -> None:
    """The flag brings the notice back before the subscription does."""
    async with hearing(ears, ears.source()):
        await ears.subscribed.publish(body(PREEMPTED))
        notice = await ears.heard()
    async with hearing(ears, ears.source(notice)) as source:
        await ears.subscribed.publish(body(PREEMPTED))
        await ears.told("duplicate")
        source.acknowledge(notice)
        await eventually(lambda: ears.hands.custody.count == 1)  # the dead run's receipt
        assert ears.inbox.empty()


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        ("not Google's", "refused"),
        (json.dumps({"protoPayload": {"methodName": "new"}}), "ignored_unknown_kind"),
    ],
)
async def test_message_without_a_notice_is_left_when_it_is_not_understood(
    ears: Ears, message: str, verdict: str
) -> None:
    """It stays as evidence until the subscription drops it."""
    async with hearing(ears, ears.source()):
        await ears.subscribed.publish(message)
        await ears.told(verdict)
        assert ears.hands.custody.count == 0
        assert ears.inbox.empty()


async def test_nothing_is_pulled_when_it_is_unknown_who_we_are(ears: Ears) -> None:
    """A message taken by somebody who can't tell whose it is would only be late."""
    ears.google.play("instance/id", (503, "busy"))
    await ears.subscribed.publish(body(PREEMPTED))
    async with hearing(ears, ears.source()):
        await eventually(lambda: "instance/id" in ears.health.keys[KEY].why)
        assert ears.count("notice") == 0
        ears.google.play("instance/id", (200, "1234567890123456789"))
        assert (await ears.heard()).kind is NoticeKind.PREEMPTION
        assert ears.health.blind_since() is None


async def test_source_is_only_blind_when_it_may_not_pull(ears: Ears) -> None:
    """A subscription that is not there is not an empty one; what comes later is heard."""
    queue = ears.hands.reception._queue
    assert isinstance(queue, Subscription)
    path, queue._path = queue._path, "/v1/projects/my-proj/subscriptions/away"
    async with hearing(ears, ears.source()):
        await eventually(lambda: "NOT_FOUND" in ears.health.keys[KEY].why)
        await ears.subscribed.publish(another("later"))
        queue._path = path
        assert "later" in (await ears.heard()).id
        assert ears.health.blind_since() is None


async def test_notice_is_withdrawn_when_the_vm_has_outlived_it_by_far(ears: Ears) -> None:
    """Nobody takes back what a log has said; a flag that stays would stop the VM for ever."""
    async with hearing(ears, ears.source()) as source:
        await ears.subscribed.publish(body(PREEMPTED))
        notice = await ears.heard()
        source.acknowledge(notice)
        ears.clock.turn(30 + OVER_AFTER_S[NoticeKind.PREEMPTION] + 1)
        await ears.subscribed.publish(json.dumps(OTHER))  # ends the pull that waits
        over = await ears.heard()
    assert (over.id, over.withdrawn, over.outcome) == (notice.id, True, "survived")


async def test_notice_that_was_left_is_withdrawn_when_the_subscription_is_away(ears: Ears) -> None:
    """It is the clock that ends it, and no message may ever come to say so."""
    async with hearing(ears, ears.source()):
        await ears.subscribed.publish(body(PREEMPTED))
        notice = await ears.heard()
    ears.clock.turn(30 + OVER_AFTER_S[NoticeKind.PREEMPTION] + 1)
    queue = ears.hands.reception._queue
    assert isinstance(queue, Subscription)
    queue._path = "/v1/projects/my-proj/subscriptions/away"
    async with hearing(ears, ears.source(notice)):
        over = await ears.heard()
    assert (over.id, over.withdrawn, over.outcome) == (notice.id, True, "survived")
