"""A run that its loop ends before ``until``: finished on all ranks, whatever comes meanwhile."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.flags import put_flag
from tests.support.history import steps_done
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import TrainerHooks, latest_committed

pytestmark = pytest.mark.ranks


def end_at_12(_: int, step: int, hooks: TrainerHooks) -> None:
    """End the run with step 12, as early stopping does."""
    if step == 12:
        hooks.end()


def finished_early(run: Tiny, place: Path) -> None:
    """Train on two ranks, each a node of its own; they finish step 12, commit it and exit 0."""

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(place / f"run_{rank}")
        run.train(rank)

    job = start_ranks(2, main, place / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert [steps_done(run.log_dir, rank)[-1] for rank in range(2)] == [12, 12]
    checkpoint = latest_committed(run.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 13


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A long run, whose directories exist, that ends early."""
    for name in ("log", "run_0", "run_1"):
        (tmp_path / name).mkdir()
    checkpoints = tmp_path / "checkpoints"
    return Tiny(checkpoint_dir=checkpoints, log_dir=tmp_path / "log", steps=1000, watch=end_at_12)


def test_run_is_finished_at_one_step_when_all_ranks_end_it(tiny: Tiny, tmp_path: Path) -> None:
    """Exit 0 with that step committed; no further step begins."""

    def too_early(_: int, step: int, hooks: TrainerHooks) -> None:
        assert step < 13
        end_at_12(0, step, hooks)

    finished_early(replace(tiny, watch=too_early), tmp_path)


def test_run_is_finished_when_a_stop_is_agreed_for_where_it_ends(
    tiny: Tiny, tmp_path: Path
) -> None:
    """A notice to rank 1 alone in the last step: the stop that comes of it comes too late."""

    def race(rank: int, step: int, hooks: TrainerHooks) -> None:
        end_at_12(rank, step, hooks)
        if step == 12:
            if rank == 1:
                put_flag(tmp_path / "run_1")
            wait_until(lambda: hooks._run.agreement.stop is not None)

    finished_early(replace(tiny, watch=race), tmp_path)
