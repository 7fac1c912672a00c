"""Ranks laid out anew hold other pieces of the same shapes; none may take its old one for it."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard

from tests.support.ranks import start_ranks
from trainer_hooks import ResumableSampler, TrainerHooks
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.layout import Attempt
from trainer_hooks.checkpoint.local_tier import LocalTier
from trainer_hooks.checkpoint.resume import resume
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.errors import StateError
from trainer_hooks.of_each_rank import OfEachRank
from trainer_hooks.state import TrainState
from trainer_hooks.world import World

pytestmark = pytest.mark.ranks

SIDE = 8
STRAIGHT, TRANSPOSED = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
"""Replicas, and the shards within each, of four ranks."""


class Position:
    """A component that each rank has its own of."""

    def __init__(self, at: int) -> None:
        self.at = at

    def state_dict(self) -> dict[str, Any]:
        """Return where it is."""
        return {"at": self.at}

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None:
        """Go there."""
        self.at = state_dict["at"]


def spread(table: Any, *, first: int, split: int = 0, at: int | None = None) -> TrainState:  # noqa: ANN401 - of any depth
    """Return a state whose square weight, numbers from ``first`` on, is spread over a mesh."""
    model = nn.Linear(SIDE, SIDE, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.arange(first, first + SIDE * SIDE).reshape(SIDE, SIDE))
    mesh = DeviceMesh("cpu", table, mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh, shard_placement_fn=lambda _: Shard(split))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    data = None if at is None else OfEachRank(Position(at))
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=data)
    model(torch.ones(1, SIDE)).sum().backward()
    optimizer.step()
    return state


def weight(state: TrainState) -> list[list[float]]:
    """Return the whole weight. All ranks call it."""
    whole: Any = state.model.weight
    rows: list[list[float]] = whole.full_tensor().tolist()
    return rows


def on_four_ranks(main: Callable[[World, Callable[[], Attempt]], None], directory: Path) -> str:
    """Run it on four ranks, which can start attempts; return the log of rank 0."""

    def rank_main(rank: int) -> None:
        logging.basicConfig(level=logging.INFO, force=True)
        world = World.connect()

        def attempt() -> Attempt:
            mine = start_attempt(directory / "durable") if rank == 0 else None
            drawn = world.from_coordinator(mine)
            assert drawn is not None
            return drawn

        main(world, attempt)
        dist.barrier()

    job = start_ranks(4, rank_main, directory / "out")
    assert job.wait() == [0] * 4, "".join(job.log(rank) for rank in range(4))
    return job.log(0)


@pytest.mark.parametrize(
    ("now", "split", "why"),
    [
        pytest.param(TRANSPOSED, 0, "the ranks stand otherwise", id="transposed"),
        pytest.param(STRAIGHT, 1, "model.weight was", id="split otherwise", marks=pytest.mark.slow),
    ],
)
def test_local_save_is_passed_over_when_ranks_hold_other_pieces(
    tmp_path: Path, now: list[list[int]], split: int, why: str
) -> None:
    """And it is taken by ranks that stand as they stood: each its own piece, of a whole."""

    def main(world: World, attempt: Callable[[], Attempt]) -> None:
        saved = spread(STRAIGHT, first=0)
        tier = LocalTier(tmp_path / "node", world, attempt())
        tier.save(saved.capture(7))
        tier.wait()
        tier.close(30.0)
        alike = spread(STRAIGHT, first=1000)
        tier = LocalTier(tmp_path / "node", world, attempt())
        point = tier.resume(alike, tmp_path / "durable")
        assert point is not None
        assert point.own_rng is not None
        assert weight(alike) == weight(saved)
        tier.save(saved.capture(8))
        tier.wait()
        tier.close(30.0)
        other = spread(now, first=2000, split=split)
        before = weight(other)
        tier = LocalTier(tmp_path / "node", world, attempt())
        assert tier.resume(other, tmp_path / "durable") is None
        assert weight(other) == before
        tier.close()

    log = on_four_ranks(main, tmp_path)
    [passed_over] = [line for line in log.splitlines() if "passed over the local" in line]
    assert why in passed_over


def test_random_numbers_and_positions_are_no_longer_a_ranks_own_when_it_stands_elsewhere(
    tmp_path: Path,
) -> None:
    """The weights are laid out anew, generators are seeded anew, a position of each is refused."""
    durable = tmp_path / "durable"

    def main(world: World, attempt: Callable[[], Attempt]) -> None:
        saved = spread(STRAIGHT, first=0)
        checkpointer = Checkpointer(durable, world, attempt(), save_every_steps=1)
        checkpointer.save(saved.capture(5))
        checkpointer.wait(None)
        alike, other = spread(STRAIGHT, first=1000), spread(TRANSPOSED, first=2000)
        for state, is_own in ((alike, True), (other, False)):
            point = resume(durable, state, world)
            assert point is not None
            assert (point.own_rng is not None) == is_own
            assert weight(state) == weight(saved)
        checkpointer.save(spread(STRAIGHT, first=0, at=world.rank).capture(6))
        checkpointer.wait(None)
        checkpointer.close()
        kept = spread(STRAIGHT, first=0, at=99)
        resume(durable, kept, world)
        assert kept.data is not None
        assert kept.data.state_dict() == OfEachRank(Position(world.rank)).state_dict()
        with pytest.raises(StateError, match=r"data is another one .* stood otherwise"):
            resume(durable, spread(TRANSPOSED, first=0, at=99), world)

    log = on_four_ranks(main, tmp_path)
    said = [line.split("rng=")[1] for line in log.splitlines() if "RESUMED step=5" in line]
    assert said == ["restored", "re-seeded, was another mesh"]


@pytest.mark.parametrize("are_peers", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_peers_draw_alike_when_random_numbers_are_seeded_anew(
    tmp_path: Path, *, are_peers: bool
) -> None:
    """Tensor-parallel ranks share a rank of the sampler: unlike masks would part their replicas."""

    def start(rank: int, ranks: int, until: int) -> None:
        logging.basicConfig(level=logging.INFO, force=True)
        model = nn.Linear(SIDE, SIDE)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        sampler = ResumableSampler(50, rank=rank, world_size=ranks)
        state = TrainState(
            model=model, optimizer=optimizer, scheduler=None, scaler=None, data=sampler
        )
        with TrainerHooks(state, checkpoint_dir=tmp_path / "run", save_every=1) as hooks:
            for step in hooks.steps(until=until):
                if step:
                    print(f"drew {torch.rand(1).item()}", flush=True)  # noqa: T201 - read below
                model(torch.ones(1, SIDE)).sum().backward()
                optimizer.step()
                hooks.consumed(1)

    def later(rank: int) -> None:
        start(0, 1, 2) if are_peers else start(rank, 2, 2)

    before = start_ranks(1, lambda rank: start(rank, 1, 1), tmp_path / "out")
    assert before.wait() == [0], before.log(0)
    job = start_ranks(2, later, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "re-seeded, was 1" in job.log(0)
    drawn = {line for rank in (0, 1) for line in job.log(rank).splitlines() if "drew" in line}
    assert len(drawn) == (1 if are_peers else 2)
