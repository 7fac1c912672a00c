"""What is done at a stop in a world of one: save once more, finish, leave at once, or go on."""

import shutil
import threading
from typing import Any

import pytest
import torch

from tests.support.flags import remove_flag
from tests.support.node import Node, at, stopped
from tests.support.training import Run
from trainer_hooks import RunOutcome, guard
from trainer_hooks.at_stop import AtStop
from trainer_hooks.checkpoint import saver
from trainer_hooks.checkpoint.manifest import write_manifest
from trainer_hooks.clock import boottime_s
from trainer_hooks.results import RankState

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def test_step_is_saved_when_a_notice_leaves_time_for_it(node: Node) -> None:
    """Right after it, so that nothing is done again."""
    outcome = node.train(Run(), in_step=at(4, node.settled_notice))
    assert node.done == [0, 1, 2, 3, 4]
    assert node.committed == [3, 5]
    assert outcome == stopped(AtStop.EMERGENCY, step=5, committed_step=5)
    assert node.told is RankState.SAVED


def test_step_is_saved_when_only_an_earlier_start_has_measured_a_save(node: Node) -> None:
    """Its checkpoint says how long it took: a run that is stopped again and again plans, too."""
    node.train(Run(), until=3)
    outcome = node.train(Run(seed=5), in_step=at(4, node.notice))
    assert outcome == stopped(AtStop.EMERGENCY, step=5, committed_step=5)


def test_step_is_not_saved_again_when_its_save_was_due(node: Node) -> None:
    """The save before the step is of the state at the stop before it."""
    outcome = node.train(Run(), in_step=at(5, node.settled_notice))
    assert node.committed == [3, 6]
    assert outcome == stopped(AtStop.EMERGENCY, step=6, committed_step=6)


def test_no_save_is_begun_when_there_is_no_time_for_it(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """A save takes a minute, and half of one is left; one line has the numbers."""

    def notice() -> None:
        node.measure(60.0, 60.0, 60.0)
        node.notice(left_s=30.0)

    outcome = node.train(Run(), in_step=at(4, notice))
    assert node.committed == [3]
    assert outcome == stopped(AtStop.NONE, step=5, committed_step=3)
    stops = [line for line in caplog.messages if line.startswith("STOP step=5 ")]
    assert len(stops) == 1
    assert "decision=stop at_stop=none last_step=4 left_s=" in stops[0]
    assert "save_s=60.00 measured=3 finish=0.00 emergency=0.0" in stops[0]


class HeldSave:
    """Keeps the first save in flight until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_writing, self.release = threading.Event(), threading.Event()

        def held(*arguments: Any) -> None:  # noqa: ANN401 - passed on
            self.is_writing.set()
            assert self.release.wait(30)
            write_manifest(*arguments)

        monkeypatch.setattr(saver, "write_manifest", held)


def test_only_the_save_in_flight_is_committed_when_none_was_measured(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take a minute: there is no other to go by."""
    held = HeldSave(monkeypatch)

    def notice() -> None:
        assert held.is_writing.wait(30)
        node.notice()
        held.release.set()

    outcome = node.train(Run(), in_step=at(4, notice))
    assert node.committed == [3]
    assert outcome == stopped(AtStop.FINISH, step=5, committed_step=3)


def test_step_is_saved_after_the_save_in_flight_when_there_is_time_for_both(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never two at once."""

    held = list[HeldSave]()

    def hold() -> None:
        node.measure(1.0)
        held.append(HeldSave(monkeypatch))

    def notice() -> None:
        assert held[0].is_writing.wait(30)
        node.notice()
        held[0].release.set()

    acts = {5: hold, 6: notice}
    outcome = node.train(Run(), in_step=lambda step: acts.get(step, int)())
    assert node.committed == [3, 6, 7]
    assert outcome == stopped(AtStop.EMERGENCY, step=7, committed_step=7)


def test_step_is_not_saved_when_the_save_in_flight_does_not_end_in_time(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It should have taken a moment, and hangs; nobody begins another one."""
    monkeypatch.setattr(guard, "LEAST_S", 0.0)
    held = HeldSave(monkeypatch)

    def notice() -> None:
        assert held.is_writing.wait(30)
        assert node.hooks is not None
        assert node.hooks._run.saves is not None
        node.hooks._run.saves._checkpointer.took_s.extend([100.0, 100.0, 100.0])
        node.notice(left_s=500.0)
        node.hooks._run.guard.arm(boottime_s())

    outcome = node.train(Run(), in_step=at(4, notice))
    assert outcome == stopped(AtStop.EMERGENCY, step=5, committed_step=None)
    held.release.set()
    node.wait_idle()
    assert node.committed == [3]


def test_run_leaves_at_once_when_its_save_in_flight_has_no_chance(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saves take ten minutes, and this one has just begun: nobody waits for it."""
    held = HeldSave(monkeypatch)

    def notice() -> None:
        assert held.is_writing.wait(30)
        assert node.hooks is not None
        assert node.hooks._run.saves is not None
        node.hooks._run.saves._checkpointer.took_s.append(600.0)
        node.notice()

    outcome = node.train(Run(), in_step=at(4, notice))
    assert outcome == stopped(AtStop.NONE, step=5, committed_step=None)
    assert node.hooks is not None
    assert node.hooks._run.saves is not None
    assert node.hooks._run.saves.is_saving
    held.release.set()
    node.wait_idle()


def test_run_goes_on_to_its_end_when_that_comes_well_before_the_deadline(node: Node) -> None:
    """All steps, the final checkpoint, and no preemption."""
    outcome = node.train(Run(), in_step=at(4, node.settled_notice), always_stop=False)
    assert node.done == list(range(9))
    assert node.committed == [3, 6, 9]
    assert outcome == RunOutcome(is_preempted=False, is_finished=True, step=9, committed_step=9)
    assert node.told is RankState.FINISHED


def test_run_stops_when_its_end_is_called_off_by_an_earlier_deadline(node: Node) -> None:
    """The same notice, with seconds instead of minutes."""

    def sooner() -> None:
        node.measure(1.0)
        node.notice(left_s=6.0, rounds=2)

    acts = {4: node.settled_notice, 6: sooner}
    outcome = node.train(Run(), in_step=lambda step: acts.get(step, int)(), always_stop=False)
    assert outcome == stopped(AtStop.EMERGENCY, step=7, committed_step=7)


def test_run_has_no_deadline_when_the_notice_is_withdrawn_before_its_end(node: Node) -> None:
    """The guard would end it otherwise, however long it takes."""
    deadlines = list[float | None]()

    def note() -> None:
        assert node.hooks is not None
        deadlines.append(node.hooks._run.guard.deadline_s)

    def withdraw() -> None:
        note()
        remove_flag(node.run_dir)
        node.wait_decided(2)
        note()

    acts = {4: node.settled_notice, 6: withdraw}
    assert node.train(
        Run(), in_step=lambda step: acts.get(step, int)(), always_stop=False
    ).is_finished
    assert (deadlines[0] is None, deadlines[1]) == (False, None)


def test_steps_since_the_last_save_are_done_again_when_there_was_no_time(node: Node) -> None:
    """Bitwise, too."""
    torch.manual_seed(3)
    straight = Run()
    node.train(straight, until=5)
    shutil.rmtree(node.checkpoints)
    torch.manual_seed(3)

    def notice() -> None:
        node.measure(60.0)
        node.notice(left_s=30.0)

    node.train(Run(), in_step=at(4, notice))
    remove_flag(node.run_dir)
    last = Run(seed=9)
    node.train(last, until=5)
    assert node.done == [0, 1, 2, 3, 4] * 2 + [3, 4]
    assert last.all() == straight.all()
