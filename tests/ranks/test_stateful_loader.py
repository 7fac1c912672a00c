"""Ranks with a StatefulDataLoader each: each goes on where it was, and only as many ranks do."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torchdata.stateful_dataloader import StatefulDataLoader

from tests.support.ranks import start_ranks
from trainer_hooks import OfEachRank, TrainerHooks, TrainState

pytestmark = [
    pytest.mark.ranks,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.set_vital. is deprecated"),  # torchdata 0.11 calls it
]


def train(rank: int, place: Path, until: int) -> None:
    """Train to a step; the ranks have different data."""
    logging.basicConfig(level=logging.INFO, force=True)
    data = torch.arange(100 * rank, 100 * rank + 23)
    loader: Any = StatefulDataLoader(
        data,
        4,
        num_workers=2,
        generator=torch.Generator().manual_seed(rank),
    )
    torch.manual_seed(2)
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = TrainState(
        model=model, optimizer=optimizer, scheduler=None, scaler=None, data=OfEachRank(loader)
    )
    with TrainerHooks(state, checkpoint_dir=place / "checkpoints", save_every=100) as hooks:
        batches = hooks.batches(loader)
        for _ in hooks.steps(until=until):
            batch = next(batches)
            print("BATCH", batch.tolist())  # noqa: T201 - read back by the test
            model(batch.float()[:, None] / 1000).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    dist.destroy_process_group()


def run(place: Path, ranks: int, until: int) -> tuple[list[int], list[list[str]], str]:
    """Train on so many ranks; return their codes, their batches, and what rank 0 has said."""
    job = start_ranks(ranks, lambda rank: train(rank, place, until), place / f"out_{until}")
    codes = job.wait()
    said = [job.log(rank).splitlines() for rank in range(ranks)]
    return codes, [[line for line in lines if "BATCH" in line] for lines in said], job.log(0)


def test_each_rank_goes_on_with_its_own_data_when_the_run_is_resumed(tmp_path: Path) -> None:
    """Over ends of epochs, at one, and twice in a row; with three ranks it is refused."""
    codes, straight, said = run(tmp_path / "straight", 2, 20)
    assert codes == [0, 0], said
    broken: list[list[str]] = [[], []]
    for until in (4, 12, 13, 20):
        codes, batches, said = run(tmp_path / "broken", 2, until)
        assert codes == [0, 0], said
        broken = [before + more for before, more in zip(broken, batches, strict=True)]
    assert broken == straight
    assert straight[0] != straight[1]
    codes, _, said = run(tmp_path / "broken", 3, 30)
    assert codes == [78, 78, 78], said
    assert "data is another one on each rank" in said
