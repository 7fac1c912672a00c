"""Boundaries within a step, in a world of one: where all may stop, and nothing new is saved."""

from collections.abc import Callable

import pytest

from tests.support.flags import remove_flag
from tests.support.node import LEFT, InStep, Node, stopped
from tests.support.training import Run
from trainer_hooks import TrainerHooks
from trainer_hooks.at_stop import AtStop
from trainer_hooks.decision import Decision

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def boundaries(node: Node, acts: dict[tuple[int, int], Callable[[], object]]) -> InStep:
    """Ask four times in each step whether to stop there, and do something before some of them."""

    def in_step(step: int) -> object:
        assert node.hooks is not None
        for part in range(4):
            acts.get((step, part), int)()
            if node.hooks.boundary():
                node.done.append(-part)
                assert node.hooks.boundary()  # however often it is asked
                return LEFT
        return None

    return in_step


def test_run_stops_within_a_step_when_its_loop_asks_there(node: Node) -> None:
    """The half step does not count, and nothing of it is saved."""
    run = Run()
    outcome = node.train(run, in_step=boundaries(node, {(1, 2): node.notice}))
    assert node.done == [0, -2]
    assert outcome == stopped(AtStop.NONE, step=1, committed_step=None)
    assert node.committed == []
    remove_flag(node.run_dir)
    assert node.train(Run(), in_step=boundaries(node, {})).is_finished


def test_step_is_finished_when_it_is_to_be_saved(node: Node) -> None:
    """Half a step is no state, so an emergency save waits for its end; so does advice."""

    def advise() -> None:
        node.notice(notice_id="advice", urgency="advisory")

    def stop() -> None:
        node.measure(1.0)
        node.notice(rounds=2)

    outcome = node.train(Run(), in_step=boundaries(node, {(1, 1): advise, (4, 2): stop}))
    assert node.done == [0, 1, 2, 3, 4]
    assert node.committed == [2, 3, 5]
    assert outcome == stopped(AtStop.EMERGENCY, step=5, committed_step=5)


def test_boundaries_stay_in_order_when_steps_are_asked_for_again(node: Node) -> None:
    """Asked before, within, between and after two loops, none comes before an earlier one."""
    passed = list[tuple[int, int]]()
    run = Run()
    with TrainerHooks(run.state, checkpoint_dir=node.checkpoints, save_every=3) as hooks:
        node.hooks = hooks
        reached = hooks._run.agreement.reached

        def note(step: int, tick: int = 0) -> Decision | None:
            passed.append((step, tick))
            return reached(step, tick)

        hooks._run.agreement.reached = note  # type: ignore[method-assign]  # passes it on
        hooks.boundary()
        hooks.alive()
        for until in (2, 4):
            for _ in hooks.steps(until=until):
                assert not hooks.boundary()
                run.step()
            hooks.boundary()
    assert passed == sorted(passed)
    assert passed[:4] == [(-1, 1), (0, 0), (0, 1), (1, 0)]
    assert hooks.outcome.is_finished
