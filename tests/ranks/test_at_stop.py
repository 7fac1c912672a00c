"""What is done at a stop, on all ranks alike: by the slowest of them and the earliest deadline."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.flags import put_flag, remove_flag
from tests.support.history import history, steps_done
from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import EXIT_PREEMPTED, latest_committed
from trainer_hooks.saves import Saves

pytestmark = pytest.mark.ranks

NOTICED_IN = 22
"""By then the save at step 20 has begun, and so the one at step 10 has ended on every rank."""


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run of one node."""
    (tmp_path / "log").mkdir()
    (tmp_path / "run").mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", steps=40)


def start(tiny: Tiny, tmp_path: Path) -> Job:
    """Start two ranks on the node."""

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / "run")
        tiny.train(rank)

    return start_ranks(2, main, tmp_path / "out")


def notice(tmp_path: Path, left_s: float) -> Callable[[int, int], None]:
    """Let rank 1 be told in one step how many seconds are left."""

    def tell(rank: int, step: int) -> None:
        if (rank, step) == (1, NOTICED_IN):
            put_flag(tmp_path / "run", left_s=left_s)

    return tell


def committed_step(tiny: Tiny) -> int | None:
    """Return the step of the newest checkpoint."""
    checkpoint = latest_committed(tiny.checkpoint_dir)
    return None if checkpoint is None else checkpoint.step


def test_no_step_is_done_again_when_there_was_time_to_save_the_last_one(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Stopped, saved and resumed at one step; bitwise as if nothing had been."""
    job = start(replace(tiny, in_step=notice(tmp_path, 120.0)), tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert [steps_done(tiny.log_dir, rank)[-1] + 1 for rank in range(2)] == [
        committed_step(tiny)
    ] * 2
    assert all("at_stop=emergency" in job.log(rank) for rank in range(2))
    remove_flag(tmp_path / "run")
    assert start(tiny, tmp_path).wait() == [0, 0]
    straight = replace(tiny, log_dir=tmp_path / "straight", checkpoint_dir=tmp_path / "other")
    straight.log_dir.mkdir()
    assert start(straight, tmp_path).wait() == [0, 0]
    for rank in range(2):
        assert steps_done(tiny.log_dir, rank) == list(range(40))
        assert history(tiny.log_dir, rank) == history(straight.log_dir, rank)


def test_no_save_is_begun_when_one_rank_alone_has_no_time_for_it(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Its saves take a minute, and half of one is left: nobody saves."""

    def slow_down(rank: int) -> None:
        if rank == 1:
            Saves.took_s = property(lambda _: (60.0,) * 3)  # type: ignore[assignment, method-assign]  # in a forked child

    run = replace(tiny, in_step=notice(tmp_path, 30.0), before_steps=slow_down)
    job = start(run, tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert committed_step(tiny) in (10, 20)  # nobody waits for one that is in flight
    for rank in range(2):
        stop = next(line for line in job.log(rank).splitlines() if " STOP step=" in line)
        assert "at_stop=emergency" not in stop
        assert "save_s=60.00 measured=3" in stop


def test_run_goes_on_to_its_end_when_that_comes_well_before_the_deadline(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Every rank trains to the end and exits 0, the final checkpoint being committed."""
    job = start(replace(tiny, in_step=notice(tmp_path, 120.0), always_stop=False), tmp_path)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert committed_step(tiny) == 40
    for rank in range(2):
        assert steps_done(tiny.log_dir, rank) == list(range(40))
        assert "decision=end" in job.log(rank)
