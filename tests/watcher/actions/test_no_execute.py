"""The taint that ends pods: not before all have saved and been asked, and not later than needed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.draining import BOOT_ID, Draining, draining
from tests.support.own_node import NODE
from tests.support.responding import Desk, Recorded, running
from watcher.actions.all_saved import AllSaved
from watcher.actions.last_turn import LastTurn
from watcher.actions.no_execute import NoExecute
from watcher.actions.trainer_look import TrainerLook
from watcher.errors import ActionDryRun, ActionWaiting
from watcher.kube.keys import RECLAIM
from watcher.notice import Standing

WEB = {"app": "web"}
FORCED_S = 90
"""Seconds after a notice of 120 s from which nobody is asked any more."""


class Ending:
    """A drain, and the taint that comes after it."""

    def __init__(self, at: Draining, **rules: Any) -> None:  # noqa: ANN401 - DrainConfig's own
        self.at = at
        drain = at.made(**rules)
        self.saved = AllSaved(TrainerLook(at.run_dir, BOOT_ID), at.clock)
        turn = LastTurn(drain, self.saved, 30, at.clock)
        self.action = NoExecute(drain._desk, turn)

    async def ask(self, standing: Standing) -> str:
        """Ask the drain and then the taint, once; return what the latter says."""
        await self.at.ask(standing)
        try:
            return await self.action.run(standing)
        except ActionWaiting as waiting:
            return str(waiting)

    async def go_on(self, standing: Standing, seconds: int) -> int:
        """Let so many seconds pass; return after how many the taint was there."""
        for passed in range(seconds):
            await self.ask(standing)
            if self.taints():
                return passed
            self.at.clock.turn(1)
            self.at.finish()
        return seconds

    def taints(self) -> list[str]:
        """Return ours that end pods, by their values."""
        taints = self.at.cluster.node(NODE)["spec"].get("taints", [])
        pairs = [(one["key"], one["effect"], one.get("value", "")) for one in taints]
        return [value for key, effect, value in pairs if (key, effect) == (RECLAIM, "NoExecute")]


@pytest.fixture
async def at(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Draining]:
    """Run a drain."""
    async with draining(tmp_path, clock) as at:
        yield at


async def test_taint_comes_when_all_have_saved_and_been_asked_to_end(at: Draining) -> None:
    """Not while one trains, nor while one that has saved was not asked yet."""
    ending, spot = Ending(at), at.notice()
    at.cluster.add_pod("trainer", NODE)
    at.cluster.add_pod("web", NODE, grace_s=60)
    for _ in range(10):
        at.train("trainer")
        assert "until all trainers have saved, or 2026-11-30T10:06:36Z" in await ending.ask(spot)
        at.clock.turn(1)
    at.train("trainer", "saved")
    assert "until the drain has asked every pod to end" in await ending.ask(spot)
    assert ending.taints() == []
    assert await ending.ask(spot) == f"tainted node-a with {RECLAIM}=preemption:NoExecute"
    assert ending.taints() == ["preemption"]
    assert sorted(at.cluster.terminating()) == ["trainer", "web"]


async def test_taint_undercuts_no_budget_when_one_blocks(at: Draining) -> None:
    """It would not ask it; so it waits for as long as the drain does."""
    ending, spot = Ending(at), at.notice()
    at.cluster.add_pod("trainer", NODE)
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    at.train("trainer")
    await ending.ask(spot)
    at.train("trainer", "saved")
    assert await ending.go_on(spot, 120) == FORCED_S


async def test_taint_waits_until_the_end_draws_near_when_no_trainer_has_ever_reported(
    at: Draining,
) -> None:
    """Somebody may be at work who can't say so, though the drain has nobody left to ask."""
    ending, spot = Ending(at), at.notice()
    at.cluster.add_pod("web", NODE)
    assert await ending.go_on(spot, 120) == FORCED_S
    assert at.cluster.pods() == []


async def test_taint_waits_until_the_end_draws_near_when_what_trainers_say_is_unknown(
    at: Draining,
) -> None:
    """Unknown is not saved."""
    ending, spot = Ending(at), at.notice()
    at.cluster.add_pod("trainer", NODE)
    at.train("trainer")
    await ending.ask(spot)
    at.train("trainer", "saved")
    (at.run_dir / "trainers" / "other.json").write_text("{")
    assert await ending.go_on(spot, 120) == FORCED_S


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"scope": "trainers"}, {}),
        ({"scope": "off"}, {}),
        ({"selector": "a=b"}, {}),
        ({}, {"reprieve.dev/evict": "never"}),
    ],
)
async def test_taint_waits_until_the_end_draws_near_when_the_drain_leaves_pods_alone(
    at: Draining, rules: dict[str, Any], said: dict[str, str]
) -> None:
    """It would not leave them alone, whether their owners or the rules want that."""
    ending, spot = Ending(at, **rules), at.notice()
    at.cluster.add_pod("web", NODE, annotations=said)
    at.cluster.add_pod("trainer", NODE)
    at.train("trainer")
    await ending.ask(spot)
    at.train("trainer", "saved")
    assert await ending.go_on(spot, 120) == FORCED_S


async def test_taint_is_undone_for_the_notice_that_is_withdrawn_and_stays_for_another(
    at: Draining,
) -> None:
    """A far one has its own time."""
    ending, near, far = Ending(at), at.notice("near"), at.notice("far", left_s=3600)
    at.clock.turn(FORCED_S)
    await ending.ask(near)
    assert "until all trainers" in await ending.ask(far)
    assert ending.taints() == ["preemption"]
    at.withdraw(near)
    assert await ending.action.undo(near) == f"node-a has no taint {RECLAIM} of ours that ends pods"
    assert ending.taints() == []
    at.clock.turn(3600 - FORCED_S - 20)
    await ending.ask(far)
    assert ending.taints() == ["preemption"]


async def test_trainers_of_before_count_no_more_when_the_notice_was_withdrawn(
    at: Draining,
) -> None:
    """Who was at work then has nothing to do with the next notice."""
    ending, first = Ending(at), at.notice("first")
    at.cluster.add_pod("trainer", NODE)
    at.train("trainer")
    await ending.ask(first)
    at.withdraw(first)
    await ending.action.undo(first)
    at.train("trainer", "saved")
    assert await ending.go_on(at.notice("second"), 120) == FORCED_S


async def test_taint_still_comes_when_the_deadline_has_passed_meanwhile(at: Draining) -> None:
    """The API server was away, and the node is still there."""
    ending, spot = Ending(at), at.notice()
    at.clock.turn(121)
    assert "tainted" in await ending.action.run(spot)


async def test_taint_of_somebody_else_is_left_when_it_was_there_before(at: Draining) -> None:
    """And said so."""
    theirs = {"key": RECLAIM, "value": "by-hand", "effect": "NoExecute"}
    ending, spot = Ending(at), at.notice()
    at.cluster.edit_node(NODE, taints=[theirs])
    at.clock.turn(FORCED_S)
    assert "before" in await ending.action.run(spot)
    at.withdraw(spot)
    await ending.action.undo(spot)
    assert ending.taints() == ["by-hand"]


async def test_nothing_is_stored_when_it_is_a_dry_run(tmp_path: Path, clock: TurnedClock) -> None:
    """The API server only judges it."""
    async with draining(tmp_path, clock, is_dry_run=True) as at:
        ending, spot = Ending(at), at.notice()
        at.clock.turn(FORCED_S)
        with pytest.raises(ActionDryRun, match="NoExecute"):
            await ending.action.run(spot)
        assert ending.taints() == []


async def test_taint_is_asked_for_beside_the_drain_until_it_is_time(
    at: Draining, clock: TurnedClock
) -> None:
    """By the responder, and undone with the rest."""
    ending = Ending(at)
    desk = Desk(clock, Recorded("flag_file"), at.drain, ending.action, state=at.state)
    at.cluster.edit_node(NODE, unschedulable=True)
    at.cluster.add_pod("web", NODE, labels=WEB)
    at.cluster.add_budget("web", WEB, allowed=0)
    async with running(desk):
        notice = desk.notice()
        desk.inbox.put_nowait(notice)
        await eventually(lambda: desk.outcome("no_execute") == "waiting")
        assert ending.taints() == []
        clock.turn(FORCED_S)
        await eventually(lambda: desk.outcome("no_execute") == "done")
        assert ending.taints() == ["preemption"]
        desk.inbox.put_nowait(replace(notice, withdrawn=True))
        await eventually(lambda: desk.outcome("no_execute") == "undone")
        assert ending.taints() == []
