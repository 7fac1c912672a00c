"""The GCP source against the simulated metadata server: what it hears, and what it asks."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.dying_connections import way_to
from tests.support.hearing_gcp import listening
from tests.support.simulated_gcp import PREFIX, GcpSimulator
from watcher.notice import Deadline, NoticeKind
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving
from watcher.sources import gcp_follow, gcp_metadata, gcp_session
from watcher.sources.gcp_preemption import EVENT, PREEMPTED
from watcher.sources.gcp_upcoming import UPCOMING


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is asked again after a second be asked again soon."""
    monkeypatch.setattr(gcp_follow, "POLL_S", 0.05)


@pytest.fixture
def scenario() -> GcpScenario:
    """A VM with GPUs that is no Spot VM."""
    return GcpScenario(identity=Identity(is_preemptible=False))


@pytest.fixture
async def cloud(scenario: GcpScenario) -> AsyncIterator[GcpSimulator]:
    """Serve the scenario."""
    app = make_app(scenario, ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        yield GcpSimulator(url, session)


async def asked(cloud: GcpSimulator, key: str) -> list[dict[str, str]]:
    """Return the queries of the requests for a key, in order."""
    return [
        {name: words[0] for name, words in parse_qs(str(entry["query"])).items()}
        for entry in await cloud.requests()
        if entry["path"] == PREFIX + key
    ]


async def waits(cloud: GcpSimulator, *keys: str, more_than: int = 0) -> None:
    """Return once the source waits for each of the keys, after so many requests for it."""
    async with asyncio.timeout(20):
        for key in keys or (PREEMPTED, EVENT, UPCOMING):
            while True:
                queries = await asked(cloud, key)
                if len(queries) > more_than and "wait_for_change" in queries[-1]:
                    break


async def test_source_hears_a_preemption_when_it_happens_while_it_waits(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """After a look that was answered at once; the wait names the ETag of that look."""
    etag = (await cloud.item(PREEMPTED)).headers["etag"]
    async with listening(cloud.url, clock) as ears:
        await waits(cloud)
        await eventually(lambda: len(ears.health.facts) == 6)
        await cloud.control("POST", "preempted")
        notice = await ears.hears()
    assert notice.kind is NoticeKind.PREEMPTION
    assert notice.deadline == Deadline.after(clock(), 30)
    assert notice.instance_id == "1234567890123456789"
    first, second, *_ = (await asked(cloud, PREEMPTED))[1:]
    assert first == {}
    assert second == {"wait_for_change": "true", "last_etag": etag, "timeout_sec": "5"}


@pytest.mark.parametrize("key", [PREEMPTED, EVENT, UPCOMING])
async def test_source_waits_no_longer_than_the_server_is_asked_to(
    cloud: GcpSimulator, clock: TurnedClock, key: str
) -> None:
    """Each key by itself, with a limit; the longest is a minute."""
    async with listening(cloud.url, clock):
        await waits(cloud, key)
    [_, wait, *_] = await asked(cloud, key)
    assert 0 < int(wait["timeout_sec"]) <= 60
    assert wait["last_etag"] == (await cloud.item(key)).headers["etag"]


async def test_source_acts_at_once_when_the_vm_was_preempted_before_it_started(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """The look that comes first shows it."""
    await cloud.control("POST", "preempted")
    async with listening(cloud.url, clock) as ears:
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
    assert (await asked(cloud, PREEMPTED))[0] == {}


async def test_source_hears_what_flipped_while_nobody_waited(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """During an outage; and what an outage hides is no news of its end."""
    async with listening(cloud.url, clock) as ears:
        await waits(cloud)
        await cloud.control("POST", "fault", {"kind": "status", "status": 503})
        await cloud.control("POST", "new_etags")  # ends the waits; what follows is refused
        await eventually(lambda: ears.is_blind(PREEMPTED) and ears.is_blind(EVENT))
        await cloud.control("POST", "preempted")
        assert ears.heard() == []
        await cloud.control("DELETE", "fault")
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
        await eventually(lambda: not ears.health.blind_since())
        await cloud.control("POST", "fault", {"kind": "html"})
        await cloud.control("POST", "new_etags")
        await eventually(lambda: ears.is_blind(PREEMPTED) and ears.is_blind(EVENT))
        assert ears.heard() == []


@pytest.mark.parametrize("kind", ["reset", "half_body", "garbage", "html", "redirect", "status"])
async def test_source_is_blind_and_looks_again_when_a_wait_ends_badly(
    cloud: GcpSimulator, clock: TurnedClock, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever came, it was no answer."""
    monkeypatch.setattr(gcp_metadata, "HOLD_S", 1)  # half an answer comes when it is due
    async with listening(cloud.url, clock) as ears:
        await waits(cloud)
        await cloud.control("POST", "fault", {"kind": kind, "path_prefix": PREFIX + PREEMPTED})
        await cloud.control("POST", "new_etags")
        await eventually(lambda: ears.is_blind(PREEMPTED))
        await cloud.control("POST", "preempted")
        await cloud.control("DELETE", "fault")
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
        assert not ears.is_blind(EVENT)


async def test_source_sees_a_dead_connection_and_looks_on_another(
    cloud: GcpSimulator, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a live migration: no answer, no end, and the flip came meanwhile."""
    monkeypatch.setattr(gcp_metadata, "HOLD_S", 1)
    monkeypatch.setattr(gcp_session, "OVERDUE_S", 0.2)
    async with listening(cloud.url, clock) as ears:
        await waits(cloud, PREEMPTED)
        dead = {"kind": "hang", "path_prefix": PREFIX + PREEMPTED, "count": 1}
        await cloud.control("POST", "fault", dead)
        met = await cloud.fault_met()
        await cloud.control("POST", "preempted")
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
    requests = [one for one in await cloud.requests() if one["path"] == PREFIX + PREEMPTED]
    after = requests[requests.index(met) + 1] if met in requests else requests[-1]
    assert (after["query"], after["connection"] == met["connection"]) == ("", False)


async def test_source_hears_what_was_lost_with_its_connections(
    cloud: GcpSimulator, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has answered the wait, and the answer went nowhere; a new connection shows it."""
    monkeypatch.setattr(gcp_metadata, "HOLD_S", 1)
    monkeypatch.setattr(gcp_session, "OVERDUE_S", 0.2)
    server = urlsplit(cloud.url)
    async with (
        way_to(str(server.hostname), server.port or 0) as way,
        listening(way.url, clock) as ears,
    ):
        await waits(cloud)
        opened = way.connections
        way.cut()
        await cloud.control("POST", "preempted")
        await eventually(lambda: ears.health.keys[PREEMPTED].last_answer == "present")
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
        assert way.connections > opened


@pytest.mark.parametrize("status", [200, 404])
async def test_source_is_blind_when_the_answer_is_not_signed(
    cloud: GcpSimulator, clock: TurnedClock, status: int
) -> None:
    """A stranger's word is not Google's, whatever it says."""
    fault = {
        "kind": "answer",
        "status": status,
        "body": "TRUE",
        "headers": {"Metadata-Flavor": "x"},
    }
    await cloud.control("POST", "fault", fault)
    async with listening(cloud.url, clock) as ears:
        await eventually(lambda: len(ears.health.keys) == 3 and ears.is_blind(PREEMPTED))
        await eventually(lambda: "Metadata-Flavor" in ears.health.keys[PREEMPTED].why)
        assert ears.heard() == []


async def test_source_signs_every_request_and_goes_through_no_proxy(
    cloud: GcpSimulator, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the server would refuse it."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with listening(cloud.url, clock) as ears:
        await waits(cloud)
        await eventually(lambda: len(ears.health.facts) == 6)
    entries = await cloud.requests()
    assert {str(entry["status"]) for entry in entries} <= {"200", "None"}
    for entry in entries:
        assert isinstance(entry["headers"], dict)
        assert entry["headers"]["Metadata-Flavor"] == "Google"


async def test_source_keeps_a_connection_for_each_key_and_one_for_the_facts(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """A wait for one key holds up no other."""
    async with listening(cloud.url, clock) as ears:
        await waits(cloud)
        await eventually(lambda: len(ears.health.facts) == 6)
        for _ in range(3):
            await cloud.control("POST", "new_etags")
            await waits(cloud, more_than=len(await asked(cloud, PREEMPTED)))
    used: dict[object, set[object]] = {}
    for entry in await cloud.requests():
        used.setdefault(entry["connection"], set()).add(entry["path"])
    alone = [paths for paths in used.values() if len(paths) == 1]
    assert sorted(str(path) for paths in alone for path in paths) == sorted(
        PREFIX + key for key in (PREEMPTED, EVENT, UPCOMING)
    )
    assert len(used) == 4


async def test_source_arms_the_warning_again_when_an_event_is_over(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """The simulator warns as Google does: only who has read the key since the last one."""
    async with listening(cloud.url, clock) as ears:
        for _ in range(3):
            before = len(await asked(cloud, EVENT))
            await waits(cloud, EVENT, more_than=before - 1)
            await cloud.control("POST", "maintenance_event")
            assert not (await ears.hears()).withdrawn
            before = len(await asked(cloud, EVENT))
            await cloud.control("POST", "maintenance_event", {"value": "NONE"})
            assert (await ears.hears()).withdrawn
            await waits(cloud, EVENT, more_than=before)


async def test_source_keeps_the_preemption_when_the_other_keys_are_clear(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """Each is asked many times after it."""
    async with listening(cloud.url, clock) as ears:
        await waits(cloud)
        await cloud.control("POST", "preempted")
        assert (await ears.hears()).kind is NoticeKind.PREEMPTION
        for _ in range(3):
            before = len(await asked(cloud, EVENT))
            await cloud.control("POST", "new_etags")
            await waits(cloud, EVENT, more_than=before)
        assert ears.heard() == []


async def test_source_hears_a_maintenance_that_is_put_off_and_then_begins(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """The document by its own key, the event by another."""
    async with listening(cloud.url, clock) as ears:
        await waits(cloud)
        await eventually(lambda: len(ears.health.facts) == 6)
        await cloud.control("POST", "upcoming_maintenance", {"start_s": 86_400})
        planned = await ears.hears()
        await cloud.control("POST", "upcoming_maintenance", {"start_s": 172_800, "style": "camel"})
        later, replaced = await ears.hears(), await ears.hears()
        await cloud.control("POST", "maintenance_event")
        event = await ears.hears()
    assert [one.kind for one in (planned, later, event)] == [NoticeKind.MAINTENANCE] * 3
    assert (replaced.id, replaced.outcome) == (planned.id, "replaced")
    assert event.deadline == Deadline.after(clock(), 3600)


@pytest.mark.parametrize("said_as", ["empty", "text", "json", "error", "missing"])
async def test_source_is_not_blind_when_no_maintenance_is_said_in_any_way(
    clock: TurnedClock, cloud: GcpSimulator, said_as: str
) -> None:
    """All five were seen on the real server."""
    await cloud.control("POST", "no_upcoming_maintenance", {"said_as": said_as})
    async with listening(cloud.url, clock) as ears:
        await eventually(lambda: ears.health.blind_since() is None)
        assert ears.health.keys[UPCOMING].last_answer == "absent"
        assert ears.heard() == []


async def test_source_hears_nothing_new_when_the_notice_was_adopted(
    cloud: GcpSimulator, clock: TurnedClock
) -> None:
    """After a restart the first run's deadline stays."""
    await cloud.control("POST", "preempted")
    async with listening(cloud.url, clock) as ears:
        adopted = await ears.hears()
    clock.turn(10)
    async with listening(cloud.url, clock, adopted=(adopted,)) as ears:
        await eventually(lambda: ears.health.keys[PREEMPTED].last_answer == "present")
        assert ears.heard() == []
