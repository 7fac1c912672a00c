"""SIGKILL at any moment costs the steps since the last commit, and nothing else."""

import itertools
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import latest_committed

pytestmark = pytest.mark.ranks

SAVE_EVERY = 5
STEPS = 40

AGENT_S = 10.0
"""Seconds that a rank may wait for a dead one before it is killed. A job's agent does that: who
waits for another to come and join waits for torch's half an hour."""


def run_of(directory: Path) -> Tiny:
    """Return a run whose saves take a noticeable part of it."""
    (directory / "log").mkdir(parents=True)
    return Tiny(
        checkpoint_dir=directory / "checkpoints",
        log_dir=directory / "log",
        steps=STEPS,
        save_every=SAVE_EVERY,
        step_s=0.01,
        width=128,
    )


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """The same run, undisturbed."""
    tiny = run_of(tmp_path_factory.mktemp("straight"))
    assert start_ranks(2, tiny.train, tiny.log_dir.parent / "out").wait() == [0, 0]
    return tiny


def kill_and_resume(tiny: Tiny, seed: int, kills: int = 3) -> None:
    """Kill one rank or both, some times, then let the run come to its end."""
    choose = random.Random(seed)  # noqa: S311 - a test's choice
    out = tiny.log_dir.parent / "out"
    for _ in range(kills):
        job = start_ranks(2, tiny.train, out)
        time.sleep(choose.uniform(0.2, 1.6))
        for victim in choose.choice([[0], [1], [0, 1]]):
            os.kill(job.pids[victim], signal.SIGKILL)
        codes = job.wait(AGENT_S)
        # A rank that had finished before the kill has left with 0 and is a zombie: no harm done.
        assert 0 not in codes or codes == [0, 0] or latest_step(tiny) == STEPS, job.log(0)
    job = start_ranks(2, tiny.train, out)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)


def latest_step(tiny: Tiny) -> int:
    """Return the step of the newest checkpoint, 0 without one."""
    checkpoint = latest_committed(tiny.checkpoint_dir)
    return 0 if checkpoint is None else checkpoint.step


def assert_as_straight(tiny: Tiny, straight: Tiny) -> None:
    """Compare bitwise, and bound what was done twice."""
    for rank in range(2):
        assert history(tiny.log_dir, rank) == history(straight.log_dir, rank)
        done = steps_done(tiny.log_dir, rank)
        for before, after in itertools.pairwise(done):
            # Redone: at most an interval and what was in flight, which is one interval more.
            assert after == before + 1 or before - after < 2 * SAVE_EVERY


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", range(6))
def test_the_run_is_bitwise_the_same_when_ranks_are_killed(
    seed: int, tmp_path: Path, straight: Tiny
) -> None:
    """Three kills at random moments, of a random rank or both."""
    tiny = run_of(tmp_path)
    kill_and_resume(tiny, seed)
    assert_as_straight(tiny, straight)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 150))
def test_the_run_is_bitwise_the_same_when_ranks_are_killed_many_times(
    seed: int, tmp_path: Path, straight: Tiny
) -> None:
    """The same with fifty seeds."""
    tiny = run_of(tmp_path)
    kill_and_resume(tiny, seed)
    assert_as_straight(tiny, straight)


def test_the_run_resumes_before_a_save_whose_commit_was_killed(
    tmp_path: Path, straight: Tiny
) -> None:
    """SIGKILL of both ranks between staging and commit: the save before it is resumed from."""
    tiny = run_of(tmp_path)
    in_the_middle = tiny.checkpoint_dir

    def die_while_saving(_: int, step: int) -> None:
        if step == 20:  # its save was begun just before
            newest = max(in_the_middle.glob("step_000000020.*"), default=None)
            if newest is not None and not (newest / "COMMIT").exists():
                os.kill(os.getpid(), signal.SIGKILL)

    job = start_ranks(2, replace(tiny, in_step=die_while_saving, width=128).train, tmp_path / "out")
    assert -signal.SIGKILL in job.wait(), job.log(0)
    assert latest_step(tiny) == 15
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "RESUMED step=15" in job.log(0)
    assert_as_straight(tiny, straight)
