"""The desk: one read and one patch for all, the right machine, and a node that has come back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.refusals import Refusal, busy, conflict, forbidden, internal
from tests.support.clocks import eventually
from tests.support.node_actions import NodeActions, node_actions
from tests.support.own_node import NODE
from tests.support.standings import admitted, in_force
from watcher.actions import node_desk
from watcher.errors import ActionRefused, ActionRetryable

SPOT = in_force()


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[NodeActions]:
    """Run the actions on a Node."""
    async with node_actions(tmp_path, limit_s=0.3) as at:
        yield at


async def test_actions_share_one_read_and_one_patch_when_they_run_side_by_side(
    at: NodeActions,
) -> None:
    """The taint is on after two round trips, however many actions there are."""
    admitted(at.state, SPOT)
    await asyncio.gather(*(action.run(SPOT) for action in at.all))
    assert at.own.calls() == [
        f"get nodes {NODE}",
        f"patch nodes {NODE}",
        f"patch nodes/status {NODE}",
        "create events default",
    ]


async def test_action_reads_anew_when_it_comes_after_a_read(at: NodeActions) -> None:
    """What it wants was not yet known then."""
    await at.run(SPOT, at.cordon)
    await at.run(SPOT, at.taint)
    assert [taint["value"] for taint in at.node()["spec"]["taints"]] == ["preemption"]


async def test_other_controllers_taints_survive_when_they_are_added_and_removed_meanwhile(
    at: NodeActions,
) -> None:
    """While we put ours on and off, on the same Node, all the time."""

    async def controller() -> None:
        for number in range(20):
            taints = at.cluster.node(NODE)["spec"].get("taints", [])
            ours = [one for one in taints if one["key"].startswith("reprieve")]
            theirs = {"key": f"theirs-{number}", "effect": "NoSchedule"}
            at.cluster.edit_node(NODE, taints=[theirs, *ours])
            await asyncio.sleep(0)

    async def notices() -> None:
        for number in range(5):
            standing = in_force(f"spot-{number}")
            await at.run(standing, at.taint)
            await at.undo(standing, at.taint)

    await asyncio.gather(controller(), notices())
    assert [one["key"] for one in at.node()["spec"]["taints"]] == ["theirs-19"]


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (forbidden(), ActionRetryable),
        (Refusal(422, "Invalid", "denied by a policy"), ActionRefused),
        (busy(), ActionRetryable),
        (internal("etcd"), ActionRetryable),
        (conflict(NODE_KIND, NODE), ActionRetryable),
        (Trouble.HANG, ActionRetryable),
        (Trouble.RESET, ActionRetryable),
        (Trouble.LOST, ActionRetryable),
    ],
    ids=["403", "422", "429", "500", "409", "hang", "reset", "lost"],
)
async def test_action_is_done_after_all_when_what_was_wrong_has_passed(
    at: NodeActions, refusal: Refusal | Trouble, error: type[Exception]
) -> None:
    """Each failure says whether trying again may help; the next attempt begins from the Node."""
    at.own.server.faults.add(refusal, verb="patch")
    with pytest.raises(error):
        await at.run(SPOT, at.cordon)
    at.own.server.faults.lift()
    await at.run(SPOT, at.cordon)
    assert at.node()["spec"]["unschedulable"] is True
    await at.undo(SPOT, at.cordon)
    assert "unschedulable" not in at.node()["spec"]


async def test_action_waits_for_a_node_that_is_not_there_yet(at: NodeActions) -> None:
    """It may be about to join."""
    at.own.server.store.remove(NODE_KIND, "", NODE)
    with pytest.raises(ActionRetryable, match="about to join"):
        await at.run(SPOT, at.cordon)
    at.cluster.add_node(NODE)
    await at.run(SPOT, at.cordon)


async def test_node_of_another_machine_is_never_touched(at: NodeActions) -> None:
    """The cloud's id on the Node is not that of the metadata service: a wrong name."""
    at.cluster.edit_node(NODE, providerID="aws:///eu-west-1a/i-0aaaaaaaaaaaaaaa0")
    at.facts["instanceId"] = "i-0bbbbbbbbbbbbbbb0"
    before = at.node()
    for action in at.all:
        with pytest.raises(ActionRefused, match=r"another machine.*spec\.nodeName"):
            await at.run(SPOT, action)
    assert at.node() == before
    assert {call.verb for call in at.own.server.access.calls} == {"get"}


async def test_desk_waits_for_the_kubelet_when_the_boot_id_is_another(at: NodeActions) -> None:
    """Nothing else is known of the machine, and the Node says so only some seconds after a boot."""
    at.own.server.store.remove(NODE_KIND, "", NODE)
    at.cluster.add_node(NODE, boot_id="boot-0")
    with pytest.raises(ActionRetryable, match="may be another machine"):
        await at.run(SPOT, at.cordon)
    at.own.server.store.remove(NODE_KIND, "", NODE)
    at.cluster.add_node(NODE, boot_id="boot-1")
    await at.run(SPOT, at.cordon)


async def test_node_is_freed_when_it_comes_back_with_a_new_boot(at: NodeActions) -> None:
    """All that an earlier boot has done is undone at start; what it had found is kept."""
    before = at.node()
    await at.run(SPOT)
    back = NodeActions(at.own, "boot-2")
    await back.desk.keep()
    assert at.node() == before


async def test_node_stays_as_it_is_when_only_the_daemon_was_restarted(at: NodeActions) -> None:
    """In the same boot the notice may be in force: nothing has been heard so far."""
    await at.run(SPOT)
    marked = at.node()
    again = NodeActions(at.own, "boot-1")
    await again.desk.keep()
    assert at.node() == marked
    await again.run(SPOT)
    await again.undo(SPOT)
    assert "unschedulable" not in at.node()["spec"]
    assert at.annotation() is None


async def test_cordon_of_a_human_stays_when_the_node_comes_back(at: NodeActions) -> None:
    """It does not carry our mark, or our mark says that it was there before."""
    at.cluster.edit_node(NODE, unschedulable=True)
    before = at.node()
    back = NodeActions(at.own, "boot-2")
    await back.desk.keep()
    assert at.node() == before
    await at.run(SPOT)
    await NodeActions(at.own, "boot-3").desk.keep()
    assert at.node() == before


async def test_node_is_freed_when_the_api_server_comes_back_late(
    at: NodeActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again until it answers."""
    monkeypatch.setattr(node_desk, "_FIRST_DELAY_S", 0.01)
    before = at.node()
    await at.run(SPOT)
    at.own.server.faults.add(internal("etcd"))
    keeping = asyncio.create_task(NodeActions(at.own, "boot-2").desk.keep())
    tries = len(at.own.calls())
    await eventually(lambda: len(at.own.calls()) > tries + 1)
    at.own.server.faults.lift()
    async with asyncio.timeout(20):
        await keeping
    assert at.node() == before


async def test_node_is_freed_when_the_daemon_may_read_it_after_all(
    at: NodeActions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An API server that has just started forbids everything; that is said once."""
    monkeypatch.setattr(node_desk, "_FIRST_DELAY_S", 0.01)
    before = at.node()
    await at.run(SPOT)
    at.own.server.faults.add(forbidden(), times=3)
    await NodeActions(at.own, "boot-2").desk.keep()
    assert at.node() == before
    assert caplog.text.count("may lack a right") == 1
