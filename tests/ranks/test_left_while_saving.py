"""A program that ends by itself while a save is in flight: committed, or said to be lost, by all.

The ranks do not leave together then: the first one out may be the host of the Store, by which the
others hear what became of the save.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import EXIT_PREEMPTED, latest_committed, run
from trainer_hooks.checkpoint import manifest, saver
from trainer_hooks.checkpoint.digest import DigestingWriter
from trainer_hooks.checkpoint.vote import Vote
from trainer_hooks.ending import Ending

pytestmark = pytest.mark.ranks

SAVED, LEFT = 10, 12
"""The step whose save is in flight, and the one in which the program ends."""

LATE_S = 0.5
"""How long a rank takes to look at what became of the save, where the other is quick to leave."""


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run with three saves."""
    (tmp_path / "log").mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log")


def in_one_group(_: int) -> None:
    """Be in one process group with the other ranks, as all that a terminal starts are."""
    leader = [os.getpid()]
    dist.broadcast_object_list(leader)
    if leader[0] == os.getpid():
        os.setpgid(0, 0)
    dist.barrier()
    os.setpgid(0, leader[0])


def be_late(rank: int, has_ended: Path) -> None:
    """Let rank 1 finish its part only when the program has ended, and look at the outcome late."""
    if rank != 1:
        return
    outcome = Vote.outcome

    def write(*arguments: object) -> None:
        wait_until(has_ended.exists)
        manifest.write_manifest(*arguments)  # type: ignore[arg-type]  # passed on

    def late(vote: Vote) -> str | None:
        time.sleep(LATE_S)
        return outcome(vote)

    saver.write_manifest = write  # type: ignore[attr-defined, assignment]
    Vote.outcome = late  # type: ignore[method-assign, assignment]


def fail() -> None:
    """Have a bug."""
    raise ZeroDivisionError("a bug of the script")


def leave() -> None:
    """End the program."""
    sys.exit(3)


def interrupt() -> None:
    """Press Ctrl-C, for this process alone."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)


def interrupt_all() -> None:
    """Press Ctrl-C in the terminal."""
    os.killpg(os.getpgrp(), signal.SIGINT)
    time.sleep(60)


@pytest.mark.parametrize(
    ("end", "who"),
    [
        pytest.param(fail, [0, 1], id="bug on all", marks=pytest.mark.slow),
        pytest.param(fail, [0], id="bug on the host", marks=pytest.mark.slow),
        pytest.param(fail, [1], id="bug on another", marks=pytest.mark.slow),
        pytest.param(leave, [0, 1], id="exit on all", marks=pytest.mark.slow),
        pytest.param(leave, [0], id="exit on the host", marks=pytest.mark.slow),
        pytest.param(leave, [1], id="exit on another", marks=pytest.mark.slow),
        pytest.param(interrupt_all, [0], id="interrupt of all"),
        pytest.param(interrupt, [0], id="interrupt of the host", marks=pytest.mark.slow),
        pytest.param(interrupt, [1], id="interrupt of another", marks=pytest.mark.slow),
    ],
)
def test_all_ranks_hear_of_the_commit_when_the_program_ends_while_it_saves(
    tiny: Tiny, tmp_path: Path, end: Callable[[], None], who: list[int]
) -> None:
    """Whoever ends it, and however; the first to leave may be the host of the Store."""
    has_ended = tmp_path / "ended"

    def prepare(rank: int) -> None:
        in_one_group(rank)
        be_late(rank, has_ended)

    def end_it(rank: int, step: int) -> None:
        if step == LEFT and rank in who:
            has_ended.touch()
            end()

    job = start_ranks(
        2, replace(tiny, before_steps=prepare, in_step=end_it).train, tmp_path / "out"
    )
    codes = job.wait()
    assert all(codes[rank] == (3 if end is leave else 1) for rank in who), job.log(0) + job.log(1)
    assert 0 not in codes
    for rank in range(2):
        assert f"committed step={SAVED} " in job.log(rank), job.log(rank)
        assert "save failed" not in job.log(rank)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == SAVED


def test_all_ranks_hear_why_when_the_save_fails_as_the_program_ends(
    tiny: Tiny, tmp_path: Path
) -> None:
    """There is no marker to tell it from; only the Store knows."""
    has_ended = tmp_path / "ended"

    def prepare(rank: int) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        be_late(rank, has_ended)
        if rank == 0:
            saver.write_manifest = full  # type: ignore[attr-defined, assignment]

    def end_it(_: int, step: int) -> None:
        if step == LEFT:
            has_ended.touch()
            fail()

    job = start_ranks(
        2, replace(tiny, before_steps=prepare, in_step=end_it).train, tmp_path / "out"
    )
    assert job.wait() == [1, 1], job.log(0) + job.log(1)
    for rank in range(2):
        why = f"save failed step={SAVED}: rank 0: [Errno 28] No space left on device"
        assert why in job.log(rank), job.log(rank)
        assert "NO SAVE COMMITTED since the start of the job: the last one, of" in job.log(rank)
    assert latest_committed(tiny.checkpoint_dir) is None


def test_nobody_waits_for_a_rank_that_is_dead_when_the_program_ends(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has done its part, and will never hear that the save was committed."""
    monkeypatch.setattr(run, "COMMIT_ON_ERROR_S", 600.0)  # whoever waits for it hangs here

    def prepare(rank: int) -> None:
        def die(_: Vote) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        if rank == 1:
            Vote.outcome = die  # type: ignore[method-assign, assignment]

    def end_it(_: int, step: int) -> None:
        if step == SAVED:
            fail()

    job = start_ranks(
        2, replace(tiny, before_steps=prepare, in_step=end_it).train, tmp_path / "out"
    )
    assert job.wait() == [1, -signal.SIGKILL], job.log(0)
    assert f"committed step={SAVED} " in job.log(0)
    assert "left before ranks [1] knew what became of the save" in job.log(0)


def test_all_say_so_when_a_save_is_broken_off_while_it_is_staged(
    tiny: Tiny, tmp_path: Path
) -> None:
    """By Ctrl-C on one rank: the other waits for its part, and hears that none will come."""

    def prepare(rank: int) -> None:
        def interrupted(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

        if rank == 1:
            saver.stage = interrupted  # type: ignore[attr-defined, assignment]

    job = start_ranks(2, replace(tiny, before_steps=prepare).train, tmp_path / "out")
    assert job.wait() == [1, 1], job.log(0) + job.log(1)
    assert f"save broken off step={SAVED}: KeyboardInterrupt()" in job.log(1)
    assert f"save failed step={SAVED}: rank 1 has broken it off: KeyboardInterrupt()" in job.log(0)
    for rank in range(2):
        assert "NO SAVE COMMITTED since the start of the job" in job.log(rank)
    assert latest_committed(tiny.checkpoint_dir) is None


@pytest.mark.slow
@pytest.mark.parametrize("is_waiting", [False, True])
def test_loss_is_said_when_the_end_is_interrupted_as_well(
    tiny: Tiny, tmp_path: Path, *, is_waiting: bool
) -> None:
    """A second Ctrl-C does not wait for the save, or not any longer; the other rank does."""

    def prepare(rank: int) -> None:
        be_late(rank, tmp_path / "never")
        run.COMMIT_ON_ERROR_S = 600.0 if rank == 0 else 1.0  # type: ignore[attr-defined]
        note = Ending.note_failure

        def note_and_interrupt(ending: Ending, error: BaseException) -> None:
            note(ending, error)
            again = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
            again.start()
            if not is_waiting:
                again.join()

        if rank == 0:
            Ending.note_failure = note_and_interrupt  # type: ignore[method-assign, assignment]

    def end_it(rank: int, step: int) -> None:
        if step == LEFT and rank == 0:
            interrupt()

    job = start_ranks(
        2, replace(tiny, before_steps=prepare, in_step=end_it).train, tmp_path / "out"
    )
    assert job.wait() == [1, 1], job.log(0) + job.log(1)
    assert "interrupted again: the save in flight is left uncommitted" in job.log(0)
    assert "out of time: the save in flight is left uncommitted" in job.log(1)
    assert latest_committed(tiny.checkpoint_dir) is None


def test_reason_is_named_when_the_program_destroys_the_group_while_it_saves(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Nobody hangs, no rank takes it for saved, and the line says what to do."""
    has_ended = tmp_path / "ended"

    def end_it(_: int, step: int) -> None:
        if step == LEFT:
            dist.destroy_process_group()
            has_ended.touch()
            leave()

    def prepare(rank: int) -> None:
        write = DigestingWriter.write_data

        def late(*arguments: Any) -> Any:  # noqa: ANN401 - DCP's own
            wait_until(has_ended.exists)
            return write(*arguments)

        if rank == 1:
            DigestingWriter.write_data = late  # type: ignore[method-assign, assignment]

    job = start_ranks(
        2, replace(tiny, before_steps=prepare, in_step=end_it).train, tmp_path / "out"
    )
    assert job.wait() == [3, 3], job.log(0) + job.log(1)
    for rank in range(2):
        assert f"save failed step={SAVED}: " in job.log(rank), job.log(rank)
        assert "the process group was destroyed while it was in flight" in job.log(rank)
    assert latest_committed(tiny.checkpoint_dir) is None


@pytest.mark.parametrize("is_stopped", [pytest.param(False, marks=pytest.mark.slow), True])
def test_last_save_is_committed_when_the_program_destroys_the_group_after_its_steps(
    tiny: Tiny, tmp_path: Path, *, is_stopped: bool
) -> None:
    """In the block still; it is waited for before that, and all leave together all the same."""

    def slow(*arguments: object) -> None:
        time.sleep(0.5)
        manifest.write_manifest(*arguments)  # type: ignore[arg-type]  # passed on

    def prepare(_: int) -> None:
        saver.write_manifest = slow  # type: ignore[attr-defined, assignment]

    def stop(rank: int, step: int) -> None:
        if is_stopped and (rank, step) == (0, SAVED):
            os.kill(os.getpid(), signal.SIGTERM)

    job = start_ranks(
        2,
        replace(
            tiny,
            before_steps=prepare,
            in_step=stop,
            after_steps=lambda _: dist.destroy_process_group(),
        ).train,
        tmp_path / "out",
    )
    assert job.wait() == ([EXIT_PREEMPTED] * 2 if is_stopped else [0, 0]), job.log(0) + job.log(1)
    for rank in range(2):
        assert "left without the others" not in job.log(rank)
        assert "save failed" not in job.log(rank)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step >= (SAVED if is_stopped else 30)
