"""Ranks that choose their own interval save at the same steps, whatever happens to them."""

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.flags import put_flag
from tests.support.history import history
from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import AutoInterval
from trainer_hooks.checkpoint.latest import committed

pytestmark = pytest.mark.ranks

LIMIT_S = 45.0
"""Ranks that save at different steps wait for each other for ever: end them before the test is."""

FIRST_STEPS = 2
EAGER = AutoInterval(prior_mtbi_s=2.0, first_steps=FIRST_STEPS)
"""Of a pool so poor that a run of seconds saves often."""


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run whose directories exist."""
    (tmp_path / "log").mkdir()
    return Tiny(
        checkpoint_dir=tmp_path / "checkpoints",
        log_dir=tmp_path / "log",
        save_every=EAGER,
        steps=150,
    )


def start(tiny: Tiny, tmp_path: Path, size: int) -> Job:
    """Start the run on ``size`` nodes of one rank each."""

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / f"run_{rank}")
        tiny.train(rank)

    return start_ranks(size, main, tmp_path / "out")


def saved_by(job: Job, rank: int) -> list[int]:
    """Return the steps that a rank has saved and seen committed, in their order."""
    return [int(step) for step in re.findall(r"committed step=(\d+) ", job.log(rank))]


def intervals(tiny: Tiny) -> dict[int, int]:
    """Return the interval in force after each checkpoint, by its step."""
    found = {one.step: one.marker.save_every_steps for one in committed(tiny.checkpoint_dir)}
    return dict(sorted(found.items()))


def assert_agreed(tiny: Tiny, job: Job, size: int) -> None:
    """All have saved at the same steps, each one interval after the one before."""
    steps = saved_by(job, 0)
    assert all(saved_by(job, rank) == steps for rank in range(size))
    every = intervals(tiny)
    for before, step in pairwise(steps):
        # The last save is at the run's end, or where it was stopped.
        assert step - before == every[before] or step == steps[-1], every


def slowly(rank: int, _step: int) -> None:
    """Take longer on rank 1, which then comes late to every save."""
    if rank == 1:
        time.sleep(0.01)


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks_save_at_the_same_steps_when_one_is_slow(
    tiny: Tiny, tmp_path: Path, size: int
) -> None:
    """The interval changes under way, on all of them at once."""
    job = start(replace(tiny, in_step=slowly), tmp_path, size)
    assert job.wait(LIMIT_S) == [0] * size, job.log(0) + job.log(1)
    assert_agreed(tiny, job, size)
    assert saved_by(job, 0)[0] == FIRST_STEPS
    assert {*intervals(tiny).values()} != {FIRST_STEPS}
    assert "young_s=" in job.log(0)
    assert "young_s=" not in job.log(1)  # one has chosen for all


@pytest.mark.slow
def test_ranks_save_at_the_same_steps_when_advice_comes_in_between(
    tiny: Tiny, tmp_path: Path
) -> None:
    """The save that is brought forward begins a new interval on all ranks."""

    def advise(rank: int, step: int) -> None:
        slowly(rank, step)
        if (rank, step) == (1, 60):
            put_flag(tmp_path / "run_1", urgency="advisory")

    job = start(replace(tiny, in_step=advise), tmp_path, 2)
    assert job.wait(LIMIT_S) == [0, 0], job.log(0) + job.log(1)
    acted = re.search(r"decision=save last_step=(\d+)", job.log(0))
    assert acted is not None, job.log(0)
    advised = int(acted[1]) + 1
    steps = saved_by(job, 0)
    assert steps == saved_by(job, 1)
    assert advised in steps
    every = intervals(tiny)
    for before, step in pairwise(steps):
        assert step - before == every[before] or step in {advised, steps[-1]}, every


def dying_at(step: int, seen: Callable[[], bool]) -> Callable[[int, int], None]:
    """Kill rank 1 in a step, once something was seen."""

    def in_step(rank: int, now: int) -> None:
        if rank == 1 and now >= step and seen():
            os.kill(os.getpid(), signal.SIGKILL)

    return in_step


def test_ranks_go_on_with_one_interval_when_one_was_killed(tiny: Tiny, tmp_path: Path) -> None:
    """The next save is one interval after the checkpoint, and what is redone comes out the same."""
    kill = dying_at(40, lambda: len(intervals(tiny)) > 2)
    codes = start(replace(tiny, in_step=kill), tmp_path, 2).wait(LIMIT_S)
    assert codes[1] == -signal.SIGKILL
    resumed, every = max(intervals(tiny).items())
    job = start(tiny, tmp_path, 2)
    assert job.wait(LIMIT_S) == [0, 0], job.log(0) + job.log(1)
    assert f"RESUMED step={resumed} " in job.log(0)
    chosen = re.search(r"save_every=(\d+) was=(\d+)", job.log(0))
    assert chosen is not None, job.log(0)
    assert int(chosen[2]) == every
    assert saved_by(job, 0)[0] == min(resumed + int(chosen[1]), tiny.steps)
    assert_agreed(tiny, job, 2)
    for rank in range(2):  # what was done twice came out the same
        assert len(history(tiny.log_dir, rank)) == tiny.steps


@pytest.mark.slow
def test_ranks_agree_on_an_interval_when_the_job_goes_on_with_more_of_them(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Before its first step, by all of them."""
    assert start(replace(tiny, steps=60), tmp_path, 2).wait(LIMIT_S) == [0, 0]
    job = start(replace(tiny, steps=150), tmp_path, 4)
    assert job.wait(LIMIT_S) == [0] * 4, job.log(0) + job.log(1)
    told = job.log(0).index("young_s=")
    assert job.log(0).index("RESUMED step=60") < told < job.log(0).index("committed step=")
    assert_agreed(tiny, job, 4)
