"""Two tiers in one job: after a crash it goes on from the local save, exactly."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import LocalSaves, latest_committed

pytestmark = pytest.mark.ranks


def tiny(directory: Path) -> Tiny:
    """A run that saves every ten steps to what all share, and every four to its node."""
    (directory / "log").mkdir(parents=True)
    return Tiny(
        checkpoint_dir=directory / "checkpoints",
        log_dir=directory / "log",
        local=LocalSaves(directory=directory / "node", save_every=4),
        steps=25,
        step_s=0.05,
    )


def has_saved_16(node: Path) -> bool:
    """Tell whether both ranks' saves of step 16 are committed on the node."""
    newest = [latest_committed(node / f"rank_0000{rank}_of_00002") for rank in range(2)]
    return [one is not None and one.step for one in newest] == [16, 16]


@pytest.mark.parametrize("is_node_lost", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_job_goes_on_from_the_newest_tier_when_it_has_crashed(
    tmp_path: Path, *, is_node_lost: bool
) -> None:
    """From step 16 of its node's disk; or, with the node lost, from step 10 of what all share."""
    straight = tiny(tmp_path / "straight")
    job = start_ranks(2, straight.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    run = tiny(tmp_path / "job")
    dies = replace(run, exit_in_step=19, may_exit=lambda: has_saved_16(tmp_path / "job" / "node"))
    job = start_ranks(2, dies.train, tmp_path / "out")
    assert job.wait() == [9, 9], job.log(0) + job.log(1)
    if is_node_lost:
        shutil.rmtree(tmp_path / "job" / "node")
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    began = 10 if is_node_lost else 16
    assert f"RESUMED step={began} " in job.log(0)
    for rank in range(2):
        assert steps_done(run.log_dir, rank) == [*range(19), *range(began, 25)]
        assert history(run.log_dir, rank) == history(straight.log_dir, rank)
    newest = latest_committed(run.checkpoint_dir)
    assert newest is not None
    assert newest.step == 25
