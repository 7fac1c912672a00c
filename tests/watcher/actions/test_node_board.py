"""What people can see of the Node: who has cordoned it, and what of it is ours."""

from pathlib import Path

import pytest

from tests.support.clocks import START, TurnedClock
from tests.support.draining import draining
from tests.support.hearing_node import hearing_node
from tests.support.node_actions import node_actions
from tests.support.own_node import NODE
from tests.support.standings import in_force
from watcher.errors import ActionDryRun


async def test_node_is_seen_as_ours_when_we_have_cordoned_it(tmp_path: Path) -> None:
    """And as nobody's when the notice is withdrawn."""
    async with node_actions(tmp_path) as actions:
        notice = in_force()
        await actions.run(notice)
        seen = actions.board.node
        assert seen is not None
        assert (seen.name, seen.at) == (NODE, START)
        assert (seen.is_unschedulable, seen.is_cordoned_by_us) == (True, True)
        assert seen.taints == ("preemption:NoSchedule",)
        await actions.undo(notice)
        seen = actions.board.node
        assert seen is not None
        assert (seen.is_unschedulable, seen.is_cordoned_by_us, seen.taints) == (False, False, ())


async def test_node_is_seen_as_somebody_elses_when_it_was_cordoned_before(tmp_path: Path) -> None:
    """That is left as it is, also afterwards."""
    async with node_actions(tmp_path) as actions:
        actions.cluster.edit_node(NODE, unschedulable=True)
        await actions.run(in_force())
        seen = actions.board.node
        assert seen is not None
        assert (seen.is_unschedulable, seen.is_cordoned_by_us) == (True, False)


async def test_node_is_seen_as_it_is_when_it_is_a_dry_run(tmp_path: Path) -> None:
    """Not as the API server says that it would be."""
    async with node_actions(tmp_path, is_dry_run=True) as actions:
        await actions.desk.own()
        with pytest.raises(ActionDryRun):
            await actions.run(in_force(), actions.cordon)
        seen = actions.board.node
        assert seen is not None
        assert (seen.is_unschedulable, seen.taints) == (False, ())


async def test_node_is_not_seen_when_it_is_another_machine(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """By the source: only what is this machine's is noted."""
    async with hearing_node(tmp_path, clock) as ears:
        await ears.sees()
        ears.facts["instanceId"] = "i-0beef000000000001"
        ears.cluster.edit_node(NODE, providerID="aws:///us-east-1a/i-0aaaaaaaaaaaaaaa0")
        await ears.is_blind("marks", "not known to be this machine")
        assert {(node.name, node.provider_id) for node in ears.noted} == {(NODE, "")}


async def test_pods_are_counted_when_they_are_drained(tmp_path: Path, clock: TurnedClock) -> None:
    """Held, blocked, ending and gone; nothing is left when the notice is withdrawn."""
    async with draining(tmp_path, clock) as world:
        for name in ("train", "web", "free", "last"):
            world.cluster.add_pod(name, NODE, labels={"app": name})
        world.cluster.add_budget("web", {"app": "web"}, allowed=0)
        world.train("train")
        notice = world.notice()
        await world.ask(notice)
        board = world.board
        assert board.pods is not None
        assert (board.pods.to_evict, board.pods.evicted, board.pods.gone) == (4, 0, 0)
        await world.ask(notice)
        assert (board.pods.to_evict, board.pods.evicted, board.pods.gone) == (2, 2, 0)
        world.cluster.finish_pod("free")
        await world.ask(notice)
        assert (board.pods.to_evict, board.pods.evicted, board.pods.gone) == (2, 2, 1)
        assert list(board.pods.held) == ["team-a/train"]
        assert list(board.pods.blocked) == ["team-a/web"]
        assert board.pods.forced == ()
        world.withdraw(notice)
        await world.drain.undo(notice)
        assert board.pods is None
