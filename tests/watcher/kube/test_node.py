"""One Node: read, changed under other writers' hands, and its conditions."""

import asyncio
from collections.abc import Mapping

import pytest

from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.refusals import conflict
from tests.support.own_node import OwnNode
from watcher.errors import KubeConflict, KubeMalformed, KubeUnavailable
from watcher.kube.node import CONFLICT_LIMIT, Edit
from watcher.kube.objects import Node, node_of


def _adds(key: str) -> Edit:
    def change(node: Node) -> Mapping[str, object]:
        taint = {"key": key, "value": "x", "effect": "NoSchedule"}
        return {"spec": {"taints": [*node.taints, taint]}}

    return change


def _removes(key: str) -> Edit:
    def change(node: Node) -> Mapping[str, object]:
        left = [taint for taint in node.taints if taint["key"] != key]
        return {"spec": {"taints": left or None}}

    return change


async def test_node_is_read_with_all_that_we_need(own: OwnNode) -> None:
    """What is left out on the wire is empty."""
    node = await own.node.get()
    assert (node.name, node.provider_id, node.is_unschedulable) == ("node-a", "", False)
    assert node.taints == ()
    taint = {"key": "a", "effect": "NoExecute", "timeAdded": "2026-11-30T10:00:00Z"}
    own.cluster.edit_node("node-a", unschedulable=True, taints=[taint], providerID="aws:///z/i-1")
    node = await own.node.get()
    assert (node.is_unschedulable, node.taints, node.provider_id) == (
        True,
        (taint,),
        "aws:///z/i-1",
    )


async def test_edit_is_made_again_when_another_writer_was_faster(own: OwnNode) -> None:
    """From the Node as it is then: the other writer's taint is still there."""
    edits = 0

    def change(node: Node) -> Mapping[str, object]:
        nonlocal edits
        edits += 1
        if edits == 1:
            theirs = {"key": "theirs", "effect": "NoSchedule"}
            own.cluster.edit_node("node-a", taints=[theirs])
        return _adds("ours")(node) or {}

    node = await own.node.edit(change)
    assert [taint["key"] for taint in node.taints] == ["theirs", "ours"]
    assert [call.status for call in own.server.access.calls] == [200, 409, 200, 200]


async def test_no_taint_is_lost_when_two_writers_add_and_remove_at_once(own: OwnNode) -> None:
    """Each its own, again and again, side by side."""

    async def writer(name: str) -> None:
        for number in range(10):
            await own.node.edit(_adds(f"{name}-{number}"))
            if number % 2:
                await own.node.edit(_removes(f"{name}-{number}"))

    await asyncio.gather(writer("a"), writer("b"))
    left = {taint["key"] for taint in (await own.node.get()).taints}
    assert left == {f"{name}-{number}" for name in "ab" for number in range(0, 10, 2)}
    statuses = {call.status for call in own.server.access.calls}
    assert 409 in statuses, "the writers have never met"


async def test_edit_fails_when_conflicts_have_no_end(own: OwnNode) -> None:
    """Who asked for it decides then."""
    own.server.faults.add(conflict(NODE_KIND, "node-a"), verb="patch")
    with pytest.raises(KubeConflict):
        await own.node.edit(_adds("ours"))
    assert own.calls().count("patch nodes node-a") == CONFLICT_LIMIT


async def test_edit_writes_nothing_when_nothing_is_to_be_changed(own: OwnNode) -> None:
    """One read."""
    await own.node.edit(lambda _: None)
    assert own.calls() == ["get nodes node-a"]


async def test_edit_is_made_once_when_its_answer_was_lost_and_it_is_made_again(
    own: OwnNode,
) -> None:
    """The second one finds what the first has done."""

    def change(node: Node) -> Mapping[str, object] | None:
        return None if node.is_unschedulable else {"spec": {"unschedulable": True}}

    own.server.faults.add(Trouble.LOST, verb="patch", times=1)
    with pytest.raises(KubeUnavailable):
        await own.node.edit(change)
    node = await own.node.edit(change)
    assert node.is_unschedulable
    assert own.calls().count("patch nodes node-a") == 1


async def test_condition_is_put_among_the_others_and_taken_off_again(own: OwnNode) -> None:
    """Through the status alone; the kubelet's stay."""
    before = own.cluster.node("node-a")["status"]
    for status in ("True", "Unknown"):
        await own.node.set_condition({"type": "ReclaimPending", "status": status})
    found = own.cluster.node("node-a")["status"]["conditions"]
    assert [(one["type"], one["status"]) for one in found] == [
        ("Ready", "True"),
        ("ReclaimPending", "Unknown"),
    ]
    for _ in range(2):
        await own.node.remove_condition("ReclaimPending")
    assert own.cluster.node("node-a")["status"] == before


@pytest.mark.parametrize(
    "damage",
    [
        {"metadata": None},
        {"metadata": {"name": 1}},
        {"spec": ["x"]},
        {"spec": {"taints": 5}},
        {"status": {"nodeInfo": 5}},
    ],
)
async def test_object_that_is_no_node_is_malformed(own: OwnNode, damage: dict[str, object]) -> None:
    """Whatever a server says."""
    with pytest.raises(KubeMalformed, match="no Node"):
        node_of(own.cluster.node("node-a") | {"spec": {"x": "y"}} | damage)
