"""A run that holds its global batch at any number of ranks; in double precision, no dropout."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from trainer_hooks import (
    MicroBatches,
    ResumableSampler,
    TrainerHooks,
    TrainState,
    plan_accumulation,
)

SIZE, GLOBAL, MICRO = 53, 16, 2


@dataclass(frozen=True, kw_only=True)
class Accumulating:
    """What a start of the run does."""

    checkpoint_dir: Path
    log_dir: Path
    until: int
    workers: int = 0

    def train(self, rank: int) -> None:
        """Train on this rank, and log each step."""
        logging.basicConfig(level=logging.INFO, force=True)
        data = TensorDataset(torch.arange(SIZE), _inputs())
        sampler = ResumableSampler(SIZE, seed=3)
        micro = MicroBatches(sampler, plan_accumulation(GLOBAL, dist.get_world_size(), MICRO))
        loader: DataLoader[Any] = DataLoader(
            data, batch_sampler=micro, num_workers=self.workers, generator=torch.Generator()
        )
        torch.manual_seed(11)
        model = DistributedDataParallel(
            nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
        )
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
        state = TrainState(
            model=model, optimizer=optimizer, scheduler=schedule, scaler=None, data=sampler
        )
        with TrainerHooks(state, checkpoint_dir=self.checkpoint_dir, save_every=4) as hooks:
            batches = hooks.batches(loader)
            for step in hooks.steps(until=self.until):
                ids: list[int] = []
                total = torch.zeros((), dtype=torch.float64)
                sizes = micro.plan.sizes(rank)
                for size, weight in zip(sizes, micro.weights, strict=True):
                    mine, inputs = next(batches)
                    loss = (model(inputs) - inputs.sum(dim=1, keepdim=True)).square().mean()
                    (loss * weight).backward()
                    total += loss.detach() * weight
                    ids += mine.tolist()[:size]
                optimizer.step()
                optimizer.zero_grad()
                dist.all_reduce(total)
                loss_of_step = total.item() / dist.get_world_size()
                self._log(rank, step, ids, optimizer.param_groups[0]["lr"], loss_of_step)
                schedule.step()
        dist.destroy_process_group()

    def _log(self, rank: int, step: int, ids: list[int], lr: float, loss: float) -> None:
        record = {"step": step, "ids": ids, "lr": lr, "loss": loss}
        with (self.log_dir / f"rank_{rank}.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps(record) + "\n")


@dataclass(frozen=True, kw_only=True)
class Step:
    """What all ranks did in a step."""

    ids: list[int]
    lr: float
    loss: float


def steps_of(log_dir: Path) -> dict[int, Step]:
    """Return the steps that were logged; what ranks have in common has to be the same on all."""
    steps: dict[int, Step] = {}
    for path in sorted(log_dir.glob("rank_*.jsonl")):
        for line in path.read_text(encoding="ascii").splitlines():
            record = json.loads(line)
            mine = Step(ids=sorted(record["ids"]), lr=record["lr"], loss=record["loss"])
            before = steps.setdefault(record["step"], Step(ids=[], lr=mine.lr, loss=mine.loss))
            assert (before.lr, before.loss) == (mine.lr, mine.loss)
            steps[record["step"]] = Step(
                ids=sorted(before.ids + mine.ids), lr=mine.lr, loss=mine.loss
            )
    return steps


def _inputs() -> torch.Tensor:
    return torch.rand(SIZE, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
