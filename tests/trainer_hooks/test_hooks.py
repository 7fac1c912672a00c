"""The whole of it in a world of one: what a loop sees, what is saved, and how the block is left."""

import errno
import os
import signal
import threading
from pathlib import Path

import pytest
import torch

from tests.support.flags import put_flag, remove_flag
from tests.support.leaks import open_descriptors, thread_names
from tests.support.node import Node, at, stopped
from tests.support.training import Run
from trainer_hooks import RunOutcome, TrainerHooks
from trainer_hooks.at_stop import AtStop
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.errors import CheckpointError, ConfigError, FencedError
from trainer_hooks.results import RankState
from trainer_hooks.signals import STOP_SIGNALS

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def test_run_finishes_when_nothing_happens(node: Node) -> None:
    """Every step once, a checkpoint at each interval and at the end, and the launcher told."""
    outcome = node.train(Run(), until=8)
    assert node.done == list(range(8))
    assert node.committed == [3, 6, 8]
    assert outcome == RunOutcome(is_preempted=False, is_finished=True, step=8, committed_step=8)
    assert node.told is RankState.FINISHED


def test_run_goes_on_bitwise_when_it_was_stopped_twice(node: Node, tmp_path: Path) -> None:
    """Against one that never was."""
    torch.manual_seed(3)
    (tmp_path / "other").mkdir()
    straight = Run()
    Node(tmp_path / "other").train(straight)
    torch.manual_seed(3)
    first = Run()
    node.train(first, in_step=at(4, node.settled_notice))
    remove_flag(node.run_dir)
    node.train(Run(seed=8), in_step=at(6, node.settled_notice))
    remove_flag(node.run_dir)
    last = Run(seed=9)
    assert node.train(last).is_finished
    assert node.done == list(range(9))
    assert last.all() == straight.all()


def test_process_exits_with_75_when_the_block_is_left_preempted(node: Node) -> None:
    """Deaf to the agent's SIGTERM from then on, which must not change the code."""
    with pytest.raises(SystemExit) as raised:
        node.train(Run(), in_step=at(4, node.notice), exit_on_preempt=True)
    assert raised.value.code == 75
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_run_stops_when_a_signal_comes(node: Node, number: signal.Signals) -> None:
    """As for a notice without a deadline."""

    def signalled() -> None:
        os.kill(os.getpid(), number)
        node.wait_decided()

    outcome = node.train(Run(), in_step=at(4, signalled))
    assert outcome.is_preempted
    assert node.done[-1] == 4


def test_nothing_is_trained_or_saved_when_the_notice_was_there_first(node: Node) -> None:
    """There may be no time for it; the launcher learns that it was a preemption all the same."""
    put_flag(node.run_dir)
    run, twin = Run(), Run()
    outcome = node.train(run)
    assert node.done == []
    assert node.committed == []
    assert outcome == stopped(AtStop.FINISH, step=0, committed_step=None)
    assert node.told is RankState.SAVED
    assert run.all() == twin.all()


def test_save_is_brought_forward_when_advice_comes(node: Node) -> None:
    """Once, at the next boundary; the training goes on."""
    outcome = node.train(Run(), in_step=at(4, lambda: node.notice(urgency="advisory")))
    assert node.committed == [3, 5, 6, 9]
    assert outcome.is_finished


def test_run_is_finished_when_the_notice_comes_in_its_last_step(node: Node) -> None:
    """If the final checkpoint is committed in time; preempted if it is not."""
    assert node.train(Run(), in_step=at(8, node.notice)).is_finished
    assert node.committed[-1] == 9
    assert node.told is RankState.FINISHED


def test_run_is_finished_at_once_when_it_is_started_again(node: Node) -> None:
    """The same command line as ever, and nothing is left to do."""
    node.train(Run())
    run = Run(seed=5)
    outcome = node.train(run)
    assert outcome == RunOutcome(is_preempted=False, is_finished=True, step=9, committed_step=9)
    assert node.done == list(range(9))
    assert node.committed == [3, 6, 9]


def no_space(*_: object, **__: object) -> None:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


def test_run_goes_on_when_a_save_fails(node: Node) -> None:
    """The next one works, and the run finishes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainer_hooks.checkpoint.saver.write_manifest", no_space)

        def heal() -> None:
            node.wait_idle()
            patch.undo()

        outcome = node.train(Run(), in_step=at(5, heal))
    assert node.committed == [6, 9]
    assert outcome.is_finished


def test_error_names_the_reason_when_the_final_checkpoint_fails(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no success: the last steps must be done again."""
    monkeypatch.setattr("trainer_hooks.checkpoint.saver.write_manifest", no_space)
    with pytest.raises(CheckpointError, match="No space left on device"):
        node.train(Run(), until=2)
    assert node.told is RankState.RUNNING
    assert node.committed == []


def test_error_is_raised_again_when_the_block_fails(node: Node) -> None:
    """With the save in flight committed, and no new one begun."""

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        node.train(Run(), in_step=at(4, fail))
    assert node.committed == [3]
    assert node.told is RankState.RUNNING
    assert node.train(Run()).is_finished
    assert node.done == [0, 1, 2, 3, 3, 4, 5, 6, 7, 8]


def test_run_ends_when_a_newer_one_has_started(node: Node) -> None:
    """Two of a kind would train over each other."""

    def start_another() -> None:
        node.wait_idle()
        start_attempt(node.checkpoints)

    with pytest.raises(FencedError):
        node.train(Run(), in_step=at(4, start_another))
    assert node.committed == [3]


@pytest.mark.usefixtures("outlived")
@pytest.mark.parametrize("save_every", [0, -5])
def test_interval_is_refused_when_it_is_no_number_of_steps(tmp_path: Path, save_every: int) -> None:
    """Before anything is done, and for good: nobody should start that again."""
    state = Run().state
    with pytest.raises(ConfigError, match="at least 1"):
        TrainerHooks(state, checkpoint_dir=tmp_path, save_every=save_every, exit_on_preempt=False)
    with pytest.raises(SystemExit) as ended:
        TrainerHooks(state, checkpoint_dir=tmp_path, save_every=save_every)
    assert ended.value.code == 78


def test_entry_is_refused_when_the_directory_cannot_be_written(node: Node) -> None:
    """In one line, with the signal handlers given back."""
    node.checkpoints.write_text("in the way")
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(CheckpointError, match="cannot be written"):
        node.train(Run())
    assert signal.getsignal(signal.SIGTERM) is before


def test_process_exits_with_78_when_its_set_up_is_wrong(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """At the entry, or when a component turns out later to be none that can be saved."""
    other = Run()
    other.state.extras = {"odd": Odd()}
    with pytest.raises(SystemExit) as raised:
        node.train(other, exit_on_preempt=True)
    assert raised.value.code == 78
    assert "StateError: " in caplog.text
    assert "Traceback" not in caplog.text
    node.checkpoints.rename(node.checkpoints.with_name("moved"))
    node.checkpoints.touch()
    with pytest.raises(SystemExit) as raised:
        node.train(Run(), exit_on_preempt=True)
    assert raised.value.code == 78
    assert "DirectoryError: checkpoint_dir" in caplog.text


class Odd:
    """A component that no JSON can hold."""

    def state_dict(self) -> dict[str, object]:
        """Return an object."""
        return {"odd": object()}

    def load_state_dict(self, _: dict[str, object], /) -> None:
        """Take nothing."""


def test_entry_is_refused_when_it_is_not_the_main_threads(node: Node) -> None:
    """Only that one may set signal handlers."""
    errors = list[Exception]()

    def enter() -> None:
        try:
            node.train(Run())
        except ConfigError as error:
            errors.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert len(errors) == 1


def test_nothing_is_left_when_the_block_was_left_often(node: Node) -> None:
    """No thread, no descriptor, and the handlers as they were."""
    node.train(Run(), until=2)
    before = open_descriptors(), thread_names(), signal.getsignal(signal.SIGTERM)
    for until in range(3, 8):
        node.train(Run(), until=until)
    assert (open_descriptors(), thread_names(), signal.getsignal(signal.SIGTERM)) == before
