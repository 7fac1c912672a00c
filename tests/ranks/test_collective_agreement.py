"""Ranks that agree by a collective in every step stop as those that agree over the Store do."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import torch.distributed as dist
from torch.distributed import distributed_c10d

from tests.support.flags import put_flag, remove_flag
from tests.support.history import history, steps_done
from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import EXIT_PREEMPTED, TrainerHooks, latest_committed
from trainer_hooks.world import World

pytestmark = pytest.mark.ranks


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run whose directories exist."""
    (tmp_path / "log").mkdir()
    for rank in range(3):
        node(tmp_path, rank).mkdir()
    return Tiny(
        checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", agreement="collective"
    )


def node(tmp_path: Path, rank: int) -> Path:
    """Return where a rank's node has its run directory."""
    return tmp_path / f"run_{rank}"


def start(tiny: Tiny, tmp_path: Path, size: int = 2) -> Job:
    """Start the run on nodes of one rank each."""

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(node(tmp_path, rank))
        tiny.train(rank)

    return start_ranks(size, main, tmp_path / "out")


def in_step(step: int, rank: int, act: Callable[[], object]) -> Callable[[int, int], None]:
    """Do something inside a step of one rank."""

    def hook(its_rank: int, its_step: int) -> None:
        if (its_rank, its_step) == (rank, step):
            act()

    return hook


def stopped_at(tiny: Tiny, size: int = 2) -> int:
    """Return how many steps all ranks have done, which has to be the same."""
    (done,) = {steps_done(tiny.log_dir, rank)[-1] + 1 for rank in range(size)}
    return done


@pytest.mark.parametrize("size", [2, 3])
def test_all_stop_at_one_step_and_resume_exactly_when_one_node_has_a_notice(
    tiny: Tiny, tmp_path: Path, size: int
) -> None:
    """The step that is reached is saved, and the next start goes on from there."""
    tell = in_step(22, size - 1, lambda: put_flag(node(tmp_path, size - 1)))
    job = start(replace(tiny, in_step=tell, steps=60), tmp_path, size)
    assert job.wait() == [EXIT_PREEMPTED] * size, job.log(0) + job.log(1)
    reached = stopped_at(tiny, size)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == reached >= 23
    remove_flag(node(tmp_path, size - 1))
    assert start(replace(tiny, steps=60), tmp_path, size).wait() == [0] * size
    straight = replace(
        tiny, steps=60, agreement="store", log_dir=tmp_path / "s", checkpoint_dir=tmp_path / "c"
    )
    straight.log_dir.mkdir()
    assert start(straight, tmp_path, size).wait() == [0] * size
    for rank in range(size):
        assert history(tiny.log_dir, rank) == history(straight.log_dir, rank)


def test_two_notices_make_one_stop_when_they_come_at_once(tiny: Tiny, tmp_path: Path) -> None:
    """Both are named as its causes."""

    def both(rank: int, step: int) -> None:
        if step == 12:
            put_flag(node(tmp_path, rank), notice_id=f"of-{rank}", left_s=100 + rank)

    job = start(replace(tiny, in_step=both, steps=1000), tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    stopped_at(tiny)
    stops = [line for line in job.log(1).splitlines() if " STOP " in line]
    assert len(stops) == 1


def test_nothing_is_done_when_the_notice_is_there_from_the_start(
    tiny: Tiny, tmp_path: Path
) -> None:
    """No step and no checkpoint."""
    put_flag(node(tmp_path, 1))
    job = start(tiny, tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert list(tiny.log_dir.iterdir()) == []
    assert latest_committed(tiny.checkpoint_dir) is None


def test_all_save_at_one_step_and_train_on_when_the_notice_is_advice(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Once for one notice, however long it stands."""
    tell = in_step(13, 1, lambda: put_flag(node(tmp_path, 1), urgency="advisory"))
    job = start(replace(tiny, in_step=tell, save_every=1000, steps=100), tmp_path)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    saved = [line for line in job.log(0).splitlines() if "committed step=" in line]
    assert len(saved) == 2  # what was advised, and the last


def test_the_run_goes_on_to_its_end_when_that_is_well_before_the_deadline(
    tiny: Tiny, tmp_path: Path
) -> None:
    """It ends with 0, with a notice in force, however long the first save takes."""
    tell = in_step(12, 0, lambda: put_flag(node(tmp_path, 0), left_s=6000))
    job = start(replace(tiny, in_step=tell, steps=60, always_stop=False), tmp_path)
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "decision=end" in job.log(1)
    assert stopped_at(tiny) == 60


def test_all_stop_at_one_boundary_within_a_step_when_it_has_some(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Each of them asks once."""

    def tell(rank: int, step: int, part: int) -> None:
        if (rank, step, part) == (1, 7, 2):
            put_flag(node(tmp_path, 1))

    job = start(replace(tiny, parts=6, in_part=tell), tmp_path)
    assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert stopped_at(tiny) in (7, 8)


def test_a_rank_does_not_wait_for_ever_when_another_was_killed(tiny: Tiny, tmp_path: Path) -> None:
    """It is a lost peer, as in the training's own collectives."""
    kill = in_step(9, 1, lambda: os.kill(os.getpid(), signal.SIGKILL))
    job = start(replace(tiny, in_step=kill), tmp_path)
    codes = job.wait(40)
    assert codes[1] == -signal.SIGKILL
    assert codes[0] > 0, job.log(0)


def test_all_fail_when_one_passes_more_boundaries_than_the_others(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Whoever sees it first says why; they would wait for each other in the end."""

    def watch(rank: int, step: int, hooks: TrainerHooks) -> None:
        if (rank, step) == (1, 5):
            hooks.boundary()

    job = start(replace(tiny, watch=watch), tmp_path)
    assert job.wait(40) == [1, 1]
    assert "has to call steps() and boundary() equally often" in job.log(0) + job.log(1)


def test_nobody_is_given_up_when_a_rank_is_later_than_gloos_own_limit(
    tmp_path: Path,
) -> None:
    """The training's limit may be a longer one: it evaluates on one rank for an hour."""

    def main(rank: int) -> None:
        world = World.connect()
        dist.barrier()  # the limit is for what follows, and not for how long a rank takes to start
        distributed_c10d.default_pg_timeout = timedelta(seconds=2)
        world = world.apart()
        if rank == 1:
            time.sleep(4)
        assert world.begin_max([rank, -rank])() == [1, 0]

    job = start_ranks(2, main, tmp_path / "out")
    assert job.wait(40) == [0, 0], job.log(0) + job.log(1)


@pytest.mark.parametrize("seed", range(4))
def test_all_stop_at_one_step_when_ranks_are_slow_in_turn(
    tiny: Tiny, tmp_path: Path, seed: int
) -> None:
    """Whoever is late, and whoever has the notice."""

    def drag(rank: int, step: int) -> None:
        if (step + rank + seed) % 3 == 0:
            time.sleep(0.03)
        if (rank, step) == (seed % 3, 10 + seed):
            put_flag(node(tmp_path, rank))

    job = start(replace(tiny, in_step=drag, steps=1000), tmp_path, 3)
    assert job.wait() == [EXIT_PREEMPTED] * 3, job.log(0) + job.log(1)
    assert stopped_at(tiny, 3) >= 11 + seed
