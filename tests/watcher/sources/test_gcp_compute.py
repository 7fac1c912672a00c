"""The Compute API's notices about the own VM, from an API on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.gcp_bodies import ABSENT, changed, said
from tests.support.scripted_google import TOKEN, ScriptedGoogle
from watcher.errors import SourceError, SourceMalformed, SourceUnavailable
from watcher.gcp.metadata import GcpMetadata
from watcher.gcp.rest import GoogleApi
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind
from watcher.sources.gcp_compute import EVERY_S, KEY, GcpCompute
from watcher.supervise import keep_running

PATH = "/compute/v1/projects/my-proj/zones/europe-west1-b/instances/node-1"
FLEX, SPOT = "instance-flex-start", "instance-spot"
END = "resourceStatus/scheduling/terminationTimestamp"


@asynccontextmanager
async def source_of(
    google: ScriptedGoogle, clock: TurnedClock, *adopted: Notice
) -> AsyncIterator[GcpCompute]:
    """Give what is tested."""
    async with HttpClient(google.url) as first, HttpClient(google.url) as second:
        metadata = GcpMetadata(first, clock)
        health = SourceHealth(GcpCompute.name, GcpCompute.keys, clock(), Metrics())
        yield GcpCompute(GoogleApi(second, metadata), metadata, health, clock, adopted)


async def test_notices_are_heard_when_an_end_is_known_ahead(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """One question about the own VM, and for people what is known of it."""
    google.play(PATH, (200, said(FLEX)))
    inbox: asyncio.Queue[Notice] = asyncio.Queue()
    async with source_of(google, clock) as source:
        hearing = asyncio.create_task(keep_running(source, inbox, clock))
        heard = [await inbox.get(), await inbox.get()]
        await eventually(lambda: source.health.blind_since() is None)
        hearing.cancel()
    assert [one.kind for one in heard] == [NoticeKind.CAPACITY_END, NoticeKind.MAINTENANCE]
    (asked,) = google.of(PATH)
    assert asked.path.endswith(
        "?fields=id,name,status,lastStartTimestamp,scheduling,resourceStatus"
    )
    assert source.health.facts["provisioning_model"] == "FLEX_START"


async def test_notice_is_heard_once_when_it_is_seen_again(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """It keeps its first deadline, unless a clock was wrong and it is nearer than that."""
    google.play(PATH, (200, said(FLEX)))
    async with source_of(google, clock) as source:
        assert len(await source._look()) == 2
        clock.turn(100)
        assert await source._look() == []
        clock.moment = type(clock.moment)(clock().wall, clock().boottime_s - 3600)
        again = await source._look()
    assert [one.kind for one in again] == [NoticeKind.CAPACITY_END, NoticeKind.MAINTENANCE]


async def test_notice_is_replaced_when_the_run_time_is_changed(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """The new one first, so that there is no moment without a notice."""
    google.play(PATH, (200, said(FLEX)), (200, changed(FLEX, END, "2026-12-01T18:00:00Z")))
    async with source_of(google, clock) as source:
        first, _ = await source._look()
        new, old = await source._look()
    assert (new.kind, new.withdrawn) == (NoticeKind.CAPACITY_END, False)
    assert (old.id, old.withdrawn, old.outcome) == (first.id, True, "replaced")


async def test_notice_is_withdrawn_when_a_running_vm_is_shown_without_it(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """Google says all of a VM in one answer; of one that is stopping it may say less."""
    less = changed(FLEX, "resourceStatus/upcomingMaintenance", ABSENT)
    google.play(PATH, (200, said(FLEX)), (200, less | {"status": "STOPPING"}), (200, less))
    async with source_of(google, clock) as source:
        await source._look()
        assert await source._look() == []
        (over,) = await source._look()
    assert (over.kind, over.withdrawn, over.outcome) == (NoticeKind.MAINTENANCE, True, "over")


async def test_notice_of_an_earlier_run_is_neither_repeated_nor_kept_when_it_is_over(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """The flag brings it back before the API is asked."""
    google.play(PATH, (200, said(FLEX)), (200, said(SPOT)))
    async with source_of(google, clock) as source:
        adopted = await source._look()
    google.play(PATH, (200, said(FLEX)), (200, said(SPOT)))
    async with source_of(google, clock, *adopted) as source:
        assert await source._look() == []
        assert [one.withdrawn for one in await source._look()] == [True, True]


@pytest.mark.parametrize(
    ("answer", "outcome", "kind"),
    [
        ((403, {"error": {"status": "PERMISSION_DENIED"}}), "forbidden", SourceUnavailable),
        ((404, {}), "not_found", SourceUnavailable),
        ((401, {}), "credentials", SourceUnavailable),
        ((429, {}), "throttled", SourceUnavailable),
        ((500, "<html></html>"), "refused", SourceUnavailable),
        ((200, "<html></html>"), "malformed", SourceUnavailable),
        ((200, {}), "malformed", SourceMalformed),
        ((200, changed(FLEX, "id", "99")), "malformed", SourceMalformed),
    ],
)
async def test_nothing_is_withdrawn_when_the_answer_says_nothing(
    google: ScriptedGoogle,
    clock: TurnedClock,
    answer: tuple[int, object],
    outcome: str,
    kind: type[SourceError],
) -> None:
    """What could not be learnt is unknown; the next good answer goes on from what was known."""
    google.play(PATH, (200, said(FLEX)), answer, answer)
    async with source_of(google, clock) as source:
        await source._look()
        with pytest.raises(kind) as caught:
            await source._look()
        assert (caught.value.outcome, caught.value.key) == (outcome, KEY)
        google.play(PATH, (200, said(FLEX)))
        assert await source._look() == []


async def test_cause_and_cure_are_named_when_the_vm_may_not_ask(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """A scope can't be seen from within, and there are two places to give the right."""
    google.play(PATH, (403, {"error": {"message": "Required 'compute.instances.get'"}}))
    async with source_of(google, clock) as source:
        with pytest.raises(SourceUnavailable) as caught:
            await source._look()
    for words in ("Required 'compute.instances.get'", "roles/compute.viewer", "compute.readonly"):
        assert words in str(caught.value)


async def test_pause_grows_when_the_api_is_away_and_is_long_when_it_refuses(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """A fleet that has lost a right must not spend its quota on asking."""
    pauses = []
    google.play(PATH, *[(500, {})] * 8, (200, said(SPOT)), (500, {}), (403, {}))
    async with source_of(google, clock) as source:
        for _ in range(8):
            with pytest.raises(SourceUnavailable):
                await source._look()
            pauses.append(source._rarely.pause_s)
        assert pauses == [5, 10, 20, 40, 80, 160, EVERY_S, EVERY_S]
        await source._look()
        assert source._rarely.pause_s == 0
        for pause_s in (5, EVERY_S):
            with pytest.raises(SourceUnavailable):
                await source._look()
            assert source._rarely.pause_s == pause_s


async def test_pause_is_long_when_there_is_no_service_account(
    google: ScriptedGoogle, clock: TurnedClock
) -> None:
    """Nobody can be asked without one."""
    google.play(TOKEN, (404, "none"))
    async with source_of(google, clock) as source:
        with pytest.raises(SourceUnavailable, match=r"gcp\.compute = off"):
            await source._look()
        assert source._rarely.pause_s == EVERY_S
