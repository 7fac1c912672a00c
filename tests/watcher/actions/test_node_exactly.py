"""A withdrawn notice leaves the Node as it was, to the byte, whatever it was or failed."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.faults import Garbage, Trouble, What
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.refusals import busy, conflict, internal, timed_out
from tests.support.node_actions import NodeActions, node_actions
from tests.support.own_node import NODE
from tests.support.standings import admitted, in_force, withdrawn
from watcher.actions.base import Action
from watcher.errors import ActionRetryable
from watcher.kube.client import KubeClient
from watcher.kube.keys import NO_LOAD_BALANCER, RECLAIM
from watcher.kube.node import NodeApi
from watcher.kube.objects import Node
from watcher.kube.place import Place
from watcher.notice import Standing

SPOT = in_force()
CONTROLLERS = [
    {"key": "b.example/theirs", "effect": "NoExecute", "timeAdded": "2026-11-30T10:00:00Z"},
    {"key": "a.example/theirs", "value": "x", "effect": "NoSchedule"},
]
NODES: dict[str, dict[str, Any]] = {
    "bare": {},
    "cordoned": {"spec": {"unschedulable": True}},
    "tainted": {"spec": {"taints": CONTROLLERS}},
    "by hand": {"spec": {"taints": [{"key": RECLAIM, "value": "x", "effect": "NoSchedule"}]}},
    "our key": {"spec": {"taints": [{"key": RECLAIM, "effect": "PreferNoSchedule"}]}},
    "excluded": {"labels": {NO_LOAD_BALANCER: ""}},
    "annotated": {"annotations": {"theirs": "\u00fc \U0001f4a5", "empty": ""}},
    "all": {
        "spec": {"unschedulable": True, "taints": CONTROLLERS},
        "labels": {NO_LOAD_BALANCER: "false", "x": "y"},
        "annotations": {"reprieve.dev/notice": "{}"},
    },
}


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[NodeActions]:
    """Run the actions on a Node; an answer is waited for only shortly."""
    async with node_actions(tmp_path, limit_s=0.2) as at:
        yield at


async def _done(at: NodeActions, standing: Standing, *, is_undo: bool = False) -> int:
    """Do or undo everything side by side, again where that may help; return how often it took."""

    async def insist(action: Action) -> int:
        for tries in range(1, 20):
            try:
                await (action.undo if is_undo else action.run)(standing)
            except ActionRetryable:
                await asyncio.sleep(0.01)
            else:
                return tries
        raise AssertionError(f"{action.name} has never worked")

    if is_undo:
        withdrawn(at.state, standing)
    else:
        admitted(at.state, standing)
    return max(await asyncio.gather(*(insist(action) for action in at.all)))


@pytest.mark.parametrize("kind", NODES)
async def test_node_is_the_same_to_the_byte_when_the_notice_is_withdrawn(
    at: NodeActions, kind: str
) -> None:
    """Also when two have come and gone, in whichever order."""
    given = NODES[kind]
    at.cluster.edit_node(NODE, **given.get("spec", {}))
    at.cluster.mark_node(
        NODE, labels=given.get("labels", {}), annotations=given.get("annotations", {})
    )
    before = at.cluster.content(NODE)
    other = in_force("other", left_s=600)
    for last in (SPOT, other):
        await _done(at, SPOT)
        await _done(at, other)
        assert at.cluster.content(NODE) != before
        await _done(at, other if last is SPOT else SPOT, is_undo=True)
        assert at.cluster.content(NODE) != before
        await _done(at, last, is_undo=True)
        assert at.cluster.content(NODE) == before


FAULTS: dict[str, What] = {
    "409": conflict(NODE_KIND, NODE),
    "429": busy(),
    "500": internal("etcd"),
    "504": timed_out(),
    "hang": Trouble.HANG,
    "reset": Trouble.RESET,
    "lost": Trouble.LOST,
    "garbage": Garbage(b"<html>"),
    "nothing": Garbage(b"{}"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "call", [("get", "nodes"), ("patch", "nodes"), ("patch", "nodes/status"), ("create", "events")]
)
async def test_node_is_the_same_to_the_byte_when_any_call_has_failed(
    at: NodeActions, call: tuple[str, str], fault: str
) -> None:
    """On the way there and on the way back; whether it was done or not is found out."""
    at.cluster.edit_node(NODE, taints=CONTROLLERS)
    before = at.cluster.content(NODE)
    for is_undo in (False, True):
        at.own.server.faults.add(FAULTS[fault], verb=call[0], resource=call[1], times=1)
        tries = await _done(at, SPOT, is_undo=is_undo)
        assert tries <= 3
        assert at.node()["spec"].get("unschedulable", False) is not is_undo
    assert at.cluster.content(NODE) == before


async def test_node_is_the_same_to_the_byte_when_the_token_was_rotated(at: NodeActions) -> None:
    """Before the kubelet has written the new one, and after."""
    before = at.cluster.content(NODE)
    await _done(at, SPOT)
    at.own.server.access.rotate(ADMIN, "tomorrow")
    undoing = asyncio.create_task(_done(at, SPOT, is_undo=True))
    await asyncio.sleep(0)
    at.own.token_file.write_text("tomorrow")
    await undoing
    assert at.cluster.content(NODE) == before


async def test_no_writer_loses_a_taint_when_several_write_at_once(
    at: NodeActions, tmp_path: Path
) -> None:
    """A controller with a connection of its own puts its taints on and off while we do ours."""
    before = at.cluster.content(NODE)

    def adds(key: str) -> Mapping[str, str]:
        return {"key": key, "value": "x", "effect": "NoSchedule"}

    async def controller(api: NodeApi, name: str) -> None:
        for number in range(15):
            taint = adds(f"{name}-{number}")

            def on(node: Node, taint: Mapping[str, str] = taint) -> Mapping[str, object]:
                return {"spec": {"taints": [*node.taints, taint]}}

            def off(node: Node, taint: Mapping[str, str] = taint) -> Mapping[str, object]:
                assert taint in node.taints, "lost"
                return {"spec": {"taints": [one for one in node.taints if one != taint] or None}}

            await api.edit(on)
            await api.edit(off)

    async def notices() -> None:
        for number in range(8):
            standing = in_force(f"spot-{number}")
            await _done(at, standing)
            assert any(one["key"] == RECLAIM for one in at.node()["spec"]["taints"]), "lost"
            await _done(at, standing, is_undo=True)

    place = Place(at.own.server.url, tmp_path / "token")
    async with KubeClient(place, None) as one, KubeClient(place, None) as two:
        await asyncio.gather(
            notices(),
            controller(NodeApi(one, NODE), "one"),
            controller(NodeApi(two, NODE), "two"),
        )
    assert at.cluster.content(NODE) == before
