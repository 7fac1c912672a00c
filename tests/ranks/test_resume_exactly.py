"""What must come back besides weights, and what must never be resumed over."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tests.support.history import history
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import TrainerHooks, TrainState, latest_committed
from trainer_hooks.checkpoint.commit import start_attempt

pytestmark = pytest.mark.ranks


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run whose directories exist."""
    (tmp_path / "log").mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log")


def train_with_buffers(rank: int, directory: Path, until: int) -> None:
    """Train a model whose batch norm sees other data on each rank; print its state at the end."""
    logging.basicConfig(level=logging.INFO, force=True)
    torch.manual_seed(2)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=None)
    with TrainerHooks(state, checkpoint_dir=directory, save_every=5) as hooks:
        for step in hooks.steps(until=until):
            inputs = torch.rand(4, 3, generator=torch.Generator().manual_seed(10 * step + rank))
            model(inputs + rank).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    values = [tensor.tolist() for tensor in model.module.state_dict().values()]
    print("FINAL", values)  # noqa: T201 - read back by the test


def final_state(log: str) -> str:
    """Return the printed state."""
    return next(line for line in log.splitlines() if line.startswith("FINAL"))


def test_batch_norm_goes_on_as_ddp_would_when_it_is_resumed(tmp_path: Path) -> None:
    """Rank 0's buffers are the ones that count, as in the unbroken run."""

    def run(directory: Path, until: int) -> str:
        job = start_ranks(2, lambda r: train_with_buffers(r, directory, until), tmp_path / "out")
        assert job.wait() == [0, 0], job.log(0) + job.log(1)
        return final_state(job.log(0))

    run(tmp_path / "broken", 7)
    assert run(tmp_path / "broken", 12) == run(tmp_path / "straight", 12)


def test_rng_is_restored_once_when_steps_is_called_twice(tiny: Tiny, tmp_path: Path) -> None:
    """A second call goes on where the first one ended; it does not go back to the resume."""
    straight = replace(tiny, log_dir=tmp_path / "straight", checkpoint_dir=tmp_path / "other")
    straight.log_dir.mkdir()
    straight, tiny = replace(straight, first_until=20), replace(tiny, first_until=20)
    assert start_ranks(2, straight.train, tmp_path / "out").wait() == [0, 0]
    dies = replace(tiny, exit_in_step=13, may_exit=lambda: latest_committed(tiny.checkpoint_dir))
    leave = start_ranks(2, dies.train, tmp_path / "out")
    assert leave.wait() == [9, 9]
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "RESUMED step=10" in job.log(0)
    for rank in range(2):
        assert history(tiny.log_dir, rank) == history(straight.log_dir, rank)


def short_shard(checkpoint: Path) -> None:
    shard = next(checkpoint.glob("*.distcp"))
    shard.write_bytes(shard.read_bytes()[:-1])


def flipped_bit(checkpoint: Path) -> None:
    shard = max(checkpoint.glob("*.distcp"), key=lambda path: path.stat().st_size)
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)


def broken_marker(checkpoint: Path) -> None:
    marker = checkpoint / "COMMIT"
    marker.write_bytes(marker.read_bytes()[:-20])


SLOWLY = [pytest.param(damage, marks=pytest.mark.slow) for damage in (short_shard, broken_marker)]
"""Tried apart from ranks too, in tests/trainer_hooks/checkpoint."""


@pytest.mark.parametrize("damage", [flipped_bit, *SLOWLY])
def test_nothing_starts_anew_when_every_checkpoint_is_damaged(
    tiny: Tiny, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """A fresh start over damaged checkpoints would hide the loss: every rank says so and ends."""
    assert start_ranks(2, tiny.train, tmp_path / "out").wait() == [0, 0]
    for checkpoint in tiny.checkpoint_dir.glob("step_*"):
        damage(checkpoint)
    job = start_ranks(2, replace(tiny, steps=40).train, tmp_path / "out")
    assert job.wait() == [1, 1]
    for rank in range(2):
        assert "is whole, and there were some" in job.log(rank)
    assert len(history(tiny.log_dir, 0)) == 30


@pytest.mark.parametrize("damage", [flipped_bit, *SLOWLY])
def test_the_one_before_is_resumed_when_the_newest_is_damaged(
    tiny: Tiny, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """All ranks pass over the damaged one together, and say why in one line."""
    assert start_ranks(2, tiny.train, tmp_path / "out").wait() == [0, 0]
    damage(next(tiny.checkpoint_dir.glob("step_000000030.*")))
    job = start_ranks(2, replace(tiny, steps=30).train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "RESUMED step=20" in job.log(0)
    assert job.log(0).count("passed over") == 1


def test_a_run_ends_when_a_newer_attempt_has_started(tiny: Tiny, tmp_path: Path) -> None:
    """What it trains could never be committed: all ranks end at the next save."""

    def supersede(rank: int, step: int) -> None:
        if (rank, step) == (0, 18):
            start_attempt(tiny.checkpoint_dir)

    job = start_ranks(2, replace(tiny, in_step=supersede, steps=500).train, tmp_path / "out")
    assert job.wait() == [1, 1]
    for rank in range(2):
        assert "FencedError: attempt a1-" in job.log(rank)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 10


def test_a_checkpoint_is_committed_when_latest_cannot_be_written(
    tiny: Tiny, tmp_path: Path
) -> None:
    """LATEST is a hint: a directory in its place costs a warning."""
    (tiny.checkpoint_dir / "LATEST").mkdir(parents=True)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "LATEST could not be pointed to" in job.log(0)


def test_another_model_is_named_and_not_taken_for_damage(tiny: Tiny, tmp_path: Path) -> None:
    """A layer of another width is an error of the script: no older checkpoint is tried."""
    assert start_ranks(2, tiny.train, tmp_path / "out").wait() == [0, 0]
    job = start_ranks(2, replace(tiny, width=9, steps=40).train, tmp_path / "out")
    assert job.wait() == [78, 78]
    for rank in range(2):
        assert "StateError: model.0.weight has shape (8, 4) in the checkpoint" in job.log(rank)
    assert "passed over" not in job.log(0)


def test_a_run_of_no_steps_is_finished(tiny: Tiny, tmp_path: Path) -> None:
    """Nothing was trained, so nothing is missing."""
    job = start_ranks(2, replace(tiny, steps=0).train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0)
