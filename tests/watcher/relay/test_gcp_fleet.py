"""What a relay makes of the Compute API's view of a fleet; the library says what it is told."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.gcp_bodies import RECEIVED, body, said
from tests.support.running import running
from tests.support.scripted_google import ME
from watcher.errors import GcpCallFailed
from watcher.gcp.library import ComputeLibrary, Operation
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import NoticeKind
from watcher.relay.gcp_fleet import BACK_S, INSTANCES, KEYS, OPERATIONS, Fleet, FleetWatch
from watcher.sources.gcp_entry import parse_entry
from watcher.sources.reading import ForInstance, Notices

ZONES = ("europe-west1-b", "europe-west1-c")
AT = "2026-11-30T02:05:00.123456-08:00"
TARGET = "https://www.googleapis.com/compute/v1/projects/my-proj/zones/a/instances/node-1"


class ToldLibrary(ComputeLibrary):
    """A library that answers what the test has told it; None stands for a refusal."""

    def __init__(self) -> None:
        super().__init__("my-proj", "http://127.0.0.1:9")
        self.vms: dict[str, list[Mapping[str, object]]] | None = {}
        self.acts: dict[str, list[Operation]] | None = {}
        self.asked: list[tuple[str, str, object]] = []

    def instances(self, zone: str, label: str | None) -> list[Mapping[str, object]]:
        """Return those told."""
        self.asked.append((INSTANCES, zone, label))
        if self.vms is None:
            raise GcpCallFailed("no", outcome="forbidden")
        return self.vms.get(zone, [])

    def preemptions(self, zone: str, since: datetime) -> list[Operation]:
        """Return those told."""
        self.asked.append((OPERATIONS, zone, since))
        if self.acts is None:
            raise GcpCallFailed("no", outcome="timeout")
        return self.acts.get(zone, [])


class Watched:
    """A fleet, who watches it, and what was delivered."""

    def __init__(self, label: str | None = None) -> None:
        self.library, self.clock = ToldLibrary(), TurnedClock()
        self.told: list[ForInstance] = []
        self.health = SourceHealth("gcp_compute", KEYS, self.clock(), Metrics())
        fleet = Fleet(self.library, ZONES, label)
        self.watch = FleetWatch(fleet, self, self.health, self.clock)

    async def deliver(self, told: ForInstance) -> bool:
        """Note it."""
        self.told.append(told)
        return True

    def is_blind(self, key: str) -> bool:
        """Tell whether the key is blind at the moment."""
        return self.health.keys[key].blind_since is not None


async def both(watched: Watched) -> None:
    """Let it look once at everything."""
    async with running(watched.watch.keep()):
        await eventually(lambda: not any(watched.is_blind(key) for key in KEYS))
        await asyncio.sleep(0)


def preempted(instance_id: str = ME, name: str = "systemevent-1764497100000-abc") -> Operation:
    """Build a preemption."""
    return Operation(name, instance_id, TARGET, AT)


async def test_ends_of_a_fleet_are_delivered_when_they_are_known_ahead() -> None:
    """In every zone, each to its VM."""
    watched = Watched("cluster=a")
    watched.library.vms = {
        ZONES[0]: [said("instance-flex-start")],
        ZONES[1]: [said("instance-flex-start") | {"id": "7"}, said("instance-spot")],
    }
    await both(watched)
    told = {(one.instance_id, one.notice.kind) for one in watched.told}
    assert told == {
        (instance_id, kind)
        for instance_id in (ME, "7")
        for kind in (NoticeKind.CAPACITY_END, NoticeKind.MAINTENANCE)
    }
    asked = [one for one in watched.library.asked if one[0] == INSTANCES]
    assert asked == [(INSTANCES, zone, "cluster=a") for zone in ZONES]


async def test_preemption_is_the_audit_logs_notice_when_an_operation_tells_it() -> None:
    """So that whichever comes first is delivered, and the other is known."""
    watched = Watched()
    watched.library.acts = {ZONES[1]: [preempted()]}
    await both(watched)
    (told,) = watched.told
    reading = parse_entry(body("entry-preempted"), RECEIVED)
    assert isinstance(reading, Notices)
    (logged,) = reading.addressed
    assert told.notice.id == logged.notice.id
    assert (told.notice.kind, told.notice.deadline) == (
        NoticeKind.PREEMPTION,
        logged.notice.deadline,
    )
    assert told.notice.detail == {"timestamp": AT, "resourceName": TARGET}
    since = watched.clock().wall - timedelta(seconds=BACK_S)
    assert [one for one in watched.library.asked if one[0] == OPERATIONS] == [
        (OPERATIONS, zone, since) for zone in ZONES
    ]


async def test_preemption_of_a_stranger_is_left_out_when_the_fleet_has_a_label() -> None:
    """An operation does not say it; who carried it was seen before."""
    watched = Watched("cluster=a")
    watched.library.vms = {ZONES[0]: [said("instance-spot")]}
    watched.library.acts = {ZONES[0]: [preempted("99", "other"), preempted()]}
    await both(watched)
    assert [one.instance_id for one in watched.told] == [ME]


async def test_operations_wait_for_the_members_when_the_fleet_has_a_label() -> None:
    """Without them everybody would be a stranger, and passed over for good."""
    watched = Watched("cluster=a")
    watched.library.vms = None
    watched.library.acts = {ZONES[0]: [preempted()]}
    async with running(watched.watch.keep()):
        await eventually(lambda: watched.health.keys[INSTANCES].why == "no")
        assert [one[0] for one in watched.library.asked] == [INSTANCES]


async def test_fleet_is_unknown_when_a_look_fails(caplog: pytest.LogCaptureFixture) -> None:
    """One says nothing about the other; and the line says what failed."""
    watched = Watched()
    watched.library.acts = None
    async with running(watched.watch.keep()):
        await eventually(lambda: not watched.is_blind(INSTANCES))
        await eventually(lambda: watched.health.keys[OPERATIONS].why == "no")
    assert "fleet unknown key=operations outcome=timeout" in caplog.text


async def test_fleet_is_unknown_when_a_vm_is_none() -> None:
    """Not Google's answer."""
    watched = Watched()
    watched.library.vms = {ZONES[0]: [said("instance-spot"), {"name": "node-2"}]}
    async with running(watched.watch.keep()):
        await eventually(lambda: "id is NoneType" in watched.health.keys[INSTANCES].why)
    assert watched.told == []


async def test_preemption_counts_from_its_receipt_when_its_time_is_odd() -> None:
    """It is one all the same."""
    watched = Watched()
    watched.library.acts = {ZONES[0]: [Operation("", ME, "x" * 5000, "soon\n")]}
    await both(watched)
    (told,) = watched.told
    assert told.notice.deadline is not None
    assert told.notice.deadline.left_s(watched.clock()) == 30
    assert told.notice.detail["malformed"] == r"insertTime 'soon\n'"
    assert len(told.notice.detail["resourceName"]) == 256
