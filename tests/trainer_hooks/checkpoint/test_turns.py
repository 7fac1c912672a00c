"""Turns to write in: no more than there are places, and each is free when its process ends."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from trainer_hooks.checkpoint.turns import ALL_AT_ONCE, Turns

RUN = f"/shared/{os.getpid()}"


class Holder:
    """Another rank of the node, which keeps its turn until it is let go or killed."""

    def __init__(self, at_once: int, directory: Path) -> None:
        held, self._go = directory / f"held {os.urandom(4).hex()}", directory / os.urandom(4).hex()
        self.pid = os.fork()
        if self.pid == 0:
            turns = Turns(at_once, RUN)
            with turns.turn():
                held.touch()
                wait_until(self._go.exists)
            os._exit(0)
        wait_until(held.exists)

    def let_go(self) -> None:
        """Let it end its turn, and itself."""
        self._go.touch()

    def wait(self) -> None:
        """Wait for its end."""
        os.waitpid(self.pid, 0)


@pytest.fixture
def turns() -> Iterator[Turns]:
    """Return the turns of a node on which one rank writes at a time; nobody waits long."""
    turns = Turns(1, RUN, turn_s=0.05)
    yield turns
    turns.close()
    assert not turns._path.exists()


@pytest.mark.parametrize("end", [Holder.let_go, lambda one: os.kill(one.pid, signal.SIGKILL)])
def test_turn_comes_when_the_other_has_ended_its_own(
    end: Callable[[Holder], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In order, or by its death: nobody has to clear up behind it."""
    patient = Turns(1, RUN)
    other = Holder(1, tmp_path)
    end(other)
    with patient.turn():
        pass
    other.wait()
    assert caplog.messages == []
    patient.close()


def test_rank_writes_all_the_same_when_the_others_turn_does_not_end(
    turns: Turns, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It hangs on a dead disk, say."""
    other = Holder(1, tmp_path)
    with turns.turn():
        pass
    assert caplog.messages == ["writing without a turn: none was free for 0 s"]
    other.let_go()
    other.wait()


def test_two_write_at_once_when_there_are_two_places(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And a third waits for either."""
    others = [Holder(2, tmp_path), Holder(2, tmp_path)]
    third = Turns(2, RUN)
    others[1].let_go()
    with third.turn():
        others[0].let_go()
    for other in others:
        other.wait()
    assert caplog.messages == []
    third.close()


def test_nobody_waits_when_a_stop_is_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A deadline comes before the other ranks' comfort."""
    hurried = Turns(1, RUN)
    hurried.is_hurried = True
    other = Holder(1, tmp_path)
    with hurried.turn():
        pass
    other.let_go()
    other.wait()
    assert caplog.messages == []
    hurried.close()


def test_a_turn_is_always_there_when_nobody_has_asked_for_turns(tmp_path: Path) -> None:
    """And nothing is opened for it."""
    other = Holder(1, tmp_path)
    with ALL_AT_ONCE.turn():
        other.let_go()
    other.wait()
    assert ALL_AT_ONCE._file is None


def test_writing_goes_on_when_the_turns_were_closed_meanwhile(turns: Turns) -> None:
    """By the end of the run, which does not wait for a save that is given up."""
    with turns.turn():
        turns.close()
    with turns.turn():
        pass


def test_run_is_told_when_there_can_be_no_turns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another's file, or a link, lies at its place: all write at once then."""
    probe = Turns(1, f"{RUN} linked")
    probe.close()
    probe._path.symlink_to(tmp_path / "elsewhere")
    try:
        with Turns(1, f"{RUN} linked").turn():
            pass
    finally:
        probe._path.unlink()
    assert "more than 1 ranks may write at once" in caplog.text
    assert not (tmp_path / "elsewhere").exists()
