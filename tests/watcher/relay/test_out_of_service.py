"""The out-of-service taint: when the cloud has said that a machine is off, and until it is back."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.kinds import NODE
from tests.support.clocks import TurnedClock, eventually
from tests.support.relayed_cluster import Relayed, relayed_cluster
from tests.support.told_by_relay import told
from watcher.kube.keys import ENDED_BOOT, OUT_OF_SERVICE
from watcher.notice import NoticeKind
from watcher.relay import out_of_service

MINE = "aws:///eu-west-1a/i-0123"
ENDING = told("state", kind=NoticeKind.TERMINATION, action="terminated", deadline=None)
OFF = replace(ENDING, is_terminated=True)
TAINT = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
THEIRS = {"key": "theirs", "effect": "NoSchedule"}


@pytest.fixture
async def relayed(
    tmp_path: Path, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Relayed]:
    """A cluster with our instance as a Node that somebody else has tainted."""
    monkeypatch.setattr(out_of_service, "RETRY_S", 0.01)
    async with relayed_cluster(tmp_path, clock) as relayed:
        _boot(relayed, "boot-1", taints=[THEIRS])
        await relayed.sees()
        yield relayed


def _boot(relayed: Relayed, boot_id: str, **spec: object) -> None:
    relayed.cluster.add_node("node-a", provider_id=MINE, boot_id=boot_id, **spec)


def _reboot(relayed: Relayed, boot_id: str) -> None:
    """Have the kubelet say which boot it is in, under the old Node."""
    node = relayed.cluster.node("node-a")
    node["status"]["nodeInfo"]["bootID"] = boot_id
    relayed.server.store.replace(NODE, node)


def _taints(relayed: Relayed) -> list[dict[str, Any]]:
    return list(relayed.cluster.node("node-a")["spec"].get("taints", []))


def _ended_boot(relayed: Relayed) -> str | None:
    meta = relayed.cluster.node("node-a")["metadata"]
    boot: str | None = meta.get("annotations", {}).get(ENDED_BOOT)
    return boot


async def test_node_is_taken_out_of_service_only_when_its_machine_is_terminated(
    relayed: Relayed,
) -> None:
    """In the same write as the notice, once; a machine that is about to end still runs."""
    await relayed.handler.handle(ENDING)
    assert _taints(relayed) == [THEIRS]
    await relayed.handler.handle(OFF)
    await relayed.handler.handle(OFF)
    assert _taints(relayed) == [THEIRS, TAINT]
    assert _ended_boot(relayed) == "boot-1"
    assert relayed.patches() == 2


async def test_node_is_taken_out_once_when_two_relays_have_heard_it(
    relayed: Relayed, tmp_path: Path
) -> None:
    """Beside a controller that changes taints at the same time, whose are kept."""
    async with relayed_cluster(tmp_path, relayed.clock, relayed.server) as other:
        await other.sees()
        await asyncio.gather(*(one.handler.handle(OFF) for one in (relayed, other)))
    assert _taints(relayed) == [THEIRS, TAINT]
    assert relayed.told("node-a") == ["aws-spot-state"]


async def test_node_is_back_in_service_when_it_shows_another_boot(relayed: Relayed) -> None:
    """Not a moment before: that the Node changes otherwise says nothing."""
    await relayed.handler.handle(OFF)
    relayed.cluster.mark_node("node-a", labels={"any": "change"})
    await relayed.sees()
    assert TAINT in _taints(relayed)
    _reboot(relayed, "boot-2")
    await eventually(lambda: _ended_boot(relayed) is None)
    assert _taints(relayed) == [THEIRS]


async def test_node_is_put_back_by_the_next_relay_when_this_one_has_died(
    relayed: Relayed, tmp_path: Path
) -> None:
    """What was done is on the Node, and the first list shows it."""
    await relayed.handler.handle(OFF)
    relayed.server.faults.add(Trouble.RESET, verb="patch")
    _reboot(relayed, "boot-2")
    await relayed.sees()
    assert TAINT in _taints(relayed)
    relayed.server.faults.lift()
    async with relayed_cluster(tmp_path, relayed.clock, relayed.server):
        await eventually(lambda: _taints(relayed) == [THEIRS])


async def test_taint_of_somebody_else_stays_when_the_node_is_back(relayed: Relayed) -> None:
    """Who has put it on takes it off; nor is it put on twice."""
    relayed.cluster.edit_node("node-a", taints=[TAINT])
    await relayed.handler.handle(OFF)
    assert _ended_boot(relayed) is None
    _reboot(relayed, "boot-2")
    await relayed.sees()
    assert _taints(relayed) == [TAINT]


async def test_annotation_goes_when_a_person_has_taken_the_taint_off(relayed: Relayed) -> None:
    """Also one of the same key with another effect is left as it is."""
    await relayed.handler.handle(OFF)
    soft = TAINT | {"effect": "NoSchedule"}
    relayed.cluster.edit_node("node-a", taints=[soft])
    _reboot(relayed, "boot-2")
    await eventually(lambda: _ended_boot(relayed) is None)
    assert _taints(relayed) == [soft]


async def test_node_without_a_boot_is_never_taken_out(relayed: Relayed) -> None:
    """Nobody could tell when it is back."""
    _reboot(relayed, "")
    await relayed.handler.handle(OFF)
    assert _taints(relayed) == [THEIRS]
    assert relayed.told("node-a") == ["aws-spot-state"]


async def test_relay_goes_on_when_the_node_vanishes_before_it_is_put_back(
    relayed: Relayed,
) -> None:
    """There is nothing to undo on it; the next one of that name is a new Node."""
    await relayed.handler.handle(OFF)
    relayed.server.faults.add(Trouble.RESET, verb="patch")
    _reboot(relayed, "boot-2")
    await relayed.sees()
    relayed.server.store.remove(NODE, "", "node-a")
    relayed.server.faults.lift()
    _boot(relayed, "boot-3")
    await relayed.sees()
    assert _taints(relayed) == []
    await relayed.handler.handle(OFF)
    assert _taints(relayed) == [TAINT]
