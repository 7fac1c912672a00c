"""A follower looks first, then waits with the ETag of what it saw, and never spins."""

import pytest

from tests.support.clocks import TurnedClock
from tests.support.following_gcp import HOLD_S, ByHand, said
from watcher.errors import SourceError, SourceMalformed, SourceThrottled, SourceUnavailable
from watcher.sources.gcp_follow import FREE_RETURNS, MISSING_EVERY_S, NEWS_REST_S, POLL_S
from watcher.sources.gcp_keys import MaintenanceEvent, Preempted, UpcomingMaintenance
from watcher.sources.gcp_preemption import EVENT, PREEMPTED
from watcher.sources.gcp_upcoming import UPCOMING
from watcher.sources.gcp_vm import GcpVm
from watcher.sources.pace import SLOWEST_S

DEAD = SourceUnavailable("no answer within 7 s", outcome="timeout")
DOWN = SourceUnavailable("HTTP 503", outcome="server_error")


@pytest.fixture
async def preempted(clock: TurnedClock) -> ByHand:
    """The key by which a preemption comes."""
    return ByHand(Preempted(GcpVm({}), None), PREEMPTED, clock)


@pytest.fixture
async def event(clock: TurnedClock) -> ByHand:
    """The key by which the host's maintenance comes."""
    return ByHand(MaintenanceEvent(GcpVm({}), None), EVENT, clock)


async def test_first_request_is_a_look_and_the_next_waits_with_its_etag(preempted: ByHand) -> None:
    """At once, and with the ETag of each answer in turn."""
    for etag in ("e1", "e1", "e2"):
        assert await preempted.hears(said("FALSE", etag), HOLD_S) == []
        assert preempted.pause_s == 0
    await preempted.hears(said("FALSE", "e2"), HOLD_S)
    assert preempted.script.asked == [None, "e1", "e1", "e2"]


async def test_preemption_is_heard_at_the_first_look_when_it_was_there_before(
    preempted: ByHand,
) -> None:
    """A restart of the daemon acts at once."""
    [notice] = await preempted.hears(said("TRUE"))
    assert notice.deadline is not None
    assert notice.deadline.boottime_s == notice.received.boottime_s + 30


async def test_next_request_leaves_the_loop_to_what_is_done_about_news(event: ByHand) -> None:
    """It would stand before the flag; what changes meanwhile ends the next wait at once."""
    await event.hears(said("NONE", "e1"))
    assert await event.hears(said("TERMINATE_ON_HOST_MAINTENANCE", "e2"))
    assert event.pause_s == pytest.approx(NEWS_REST_S)
    assert not await event.hears(said("TERMINATE_ON_HOST_MAINTENANCE", "e2"), HOLD_S)
    assert event.pause_s == 0
    assert event.script.asked == [None, "e1", "e2"]


@pytest.mark.parametrize(
    "failure",
    [
        DEAD,
        DOWN,
        SourceMalformed("no header"),
        SourceThrottled("HTTP 429", outcome="throttled"),
    ],
)
async def test_look_follows_every_failure_and_says_what_is_unknown(
    preempted: ByHand, failure: SourceError
) -> None:
    """What may have changed meanwhile is not waited for."""
    await preempted.hears(said("FALSE"))
    with pytest.raises(type(failure)):
        await preempted.hears(failure, 0.1)
    assert failure.key == PREEMPTED
    assert preempted.pause_s > 0
    assert len(await preempted.hears(said("TRUE"))) == 1
    assert preempted.script.asked == [None, "e1", None]


async def test_look_follows_at_once_when_a_wait_has_died(preempted: ByHand) -> None:
    """A connection that was lost in a live migration has cost enough already."""
    await preempted.hears(said("FALSE"))
    with pytest.raises(SourceUnavailable):
        await preempted.hears(DEAD, HOLD_S + 2.0)
    assert preempted.pause_s == 0
    with pytest.raises(SourceUnavailable):
        await preempted.hears(DEAD, 0.01)
    assert preempted.pause_s > 0


async def test_failures_are_asked_again_within_the_slowest_pace_however_many(
    preempted: ByHand,
) -> None:
    """A second after any, later and later after each request for fewer; never later than 5 s."""
    for number in range(50):  # news in quick succession must not put off anything
        await preempted.hears(said("TRUE", f"e{number}"), 0.01)
    pauses = []
    for failure in [DOWN] * 5 + [SourceThrottled("429", outcome="throttled")] * 20 + [DOWN] * 5:
        with pytest.raises(SourceError):
            await preempted.hears(failure, 0.01)
        pauses.append(preempted.pause_s)
        preempted.script.now_s += preempted.pause_s
    assert max(pauses[:5] + pauses[-5:]) < POLL_S
    assert max(pauses) <= SLOWEST_S + 0.001
    assert min(pauses[10:25]) > POLL_S
    await preempted.hears(said("TRUE"))
    with pytest.raises(SourceThrottled):
        await preempted.hears(SourceThrottled("429", outcome="throttled"))
    assert preempted.pause_s <= 2 * POLL_S, "an answer begins anew"


async def test_wait_that_ends_early_for_nothing_is_slowed_down_after_a_few(
    preempted: ByHand,
) -> None:
    """A server that never waits is polled once a second, and trusted again once it waits."""
    await preempted.hears(said("FALSE", "e0"))
    for number in range(FREE_RETURNS):
        await preempted.hears(said("FALSE", f"e{number}"), 0.01)
        assert preempted.pause_s == 0
    for _ in range(5):
        await preempted.hears(said("FALSE", "e9"), 0.01)
        assert preempted.pause_s > POLL_S / 2
    await preempted.hears(said("FALSE", "e9"), HOLD_S)
    assert preempted.pause_s == 0


@pytest.mark.parametrize("etag", [None, "", "a b", "é", "x" * 300])
async def test_key_is_polled_when_there_is_no_etag_to_wait_with(
    preempted: ByHand, etag: str | None
) -> None:
    """A wait without one would sleep past what has happened already."""
    for _ in range(3):
        await preempted.hears(said("FALSE", etag))
        assert preempted.pause_s == POLL_S
    assert preempted.script.asked == [None] * 3


async def test_event_is_looked_at_when_it_is_over(event: ByHand) -> None:
    """Google warns of the next one only who has looked since."""
    await event.hears(said("NONE", "e1"))
    await event.hears(said("TERMINATE_ON_HOST_MAINTENANCE", "e2"), 1.0)
    [withdrawal] = await event.hears(said("NONE", "e3"), 1.0)
    assert withdrawal.withdrawn
    assert event.pause_s == 0
    await event.hears(said("NONE", "e3"))
    await event.hears(said("NONE", "e3"), HOLD_S)
    assert event.script.asked == [None, "e1", "e2", None, "e3"]


async def test_key_that_is_not_there_is_looked_at_seldom(event: ByHand) -> None:
    """And neither waited for, nor a reason to be blind."""
    for _ in range(2):
        assert await event.hears(said("", "e1", 404)) == []
        assert event.pause_s == MISSING_EVERY_S
    assert event.script.asked == [None, None]
    assert event.health.blind_since() is None


async def test_key_is_looked_at_seldom_when_nothing_was_ever_announced(clock: TurnedClock) -> None:
    """Its 503 is an answer, and nothing that one could wait for."""
    key = ByHand(UpcomingMaintenance(GcpVm({}), None), UPCOMING, clock)
    error = '{"error":"no notifications have been received yet, try again later"}'
    assert await key.hears(said(error, "e1", 503)) == []
    assert key.pause_s == MISSING_EVERY_S
    assert key.health.blind_since() is None


async def test_preemption_is_unknown_when_its_key_is_not_there(preempted: ByHand) -> None:
    """Every VM has it: something else answers, such as GKE's own metadata server."""
    with pytest.raises(SourceUnavailable, match="hostNetwork"):
        await preempted.hears(said("", "e1", 404))
    assert preempted.pause_s <= SLOWEST_S


async def test_only_looks_count_as_how_long_an_answer_takes(clock: TurnedClock) -> None:
    """A wait is as long as it is meant to be."""
    key = ByHand(Preempted(GcpVm({}), None), PREEMPTED, clock)
    await key.hears(said("FALSE"), 0.02)
    for _ in range(3):
        await key.hears(said("FALSE"), HOLD_S)
    [metric] = key.health._metrics.fetch_seconds.collect()
    [total] = [one.value for one in metric.samples if one.name.endswith("_sum")]
    assert total == pytest.approx(0.02)
