"""A training run of milliseconds that has all a real one has: DDP, dropout, schedule, data."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from tests.support.waiting import wait_until
from trainer_hooks import (
    AutoInterval,
    Health,
    LocalSaves,
    ResumableSampler,
    TrainerHooks,
    TrainState,
)
from trainer_hooks.agreements import AgreementName

BATCH = 4

Hook = Callable[[int, int], None]
"""Called with (rank, step), inside the step."""


class _Slow(TensorDataset):
    """997 samples, each of which takes so long to load."""

    def __init__(self, sample_s: float) -> None:
        super().__init__(torch.arange(997), torch.rand(997, 4, generator=_seeded(5)))
        self._sample_s = sample_s

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        if self._sample_s:
            time.sleep(self._sample_s)
        found: tuple[torch.Tensor, ...] = super().__getitem__(index)  # type: ignore[no-untyped-call]  # torch has not typed it
        return found


@dataclass(frozen=True, kw_only=True)
class Tiny:
    """What a run does; the same for each start of it, but for the hooks."""

    checkpoint_dir: Path
    log_dir: Path
    local: LocalSaves | None = None
    writers_at_once: int | None = None
    checkpoint_url: str | None = None
    """Instead of the directory."""
    steps: int = 30
    save_every: int | str | AutoInterval = 10
    step_s: float = 0.01
    workers: int = 0
    slow_data_s: float = 0.0
    """What a batch takes to load."""
    width: int = 8
    """Of the one hidden layer; the state is about 48 * width * width bytes."""
    always_stop: bool = True
    """A run of milliseconds would always end before any deadline."""
    first_until: int | None = None
    """Call ``steps`` once with this before the call with ``steps``."""
    exit_in_step: int | None = None
    """Die with code 9 in this step, once ``may_exit`` holds."""
    may_exit: Callable[[], object] = lambda: True
    in_step: Hook | None = None
    """Inside each step, before the first collective."""
    parts: int = 0
    """Of each step, with a collective and a boundary in each."""
    in_part: Callable[[int, int, int], object] = lambda _rank, _step, _part: None
    """Called with (rank, step, part), inside the part."""
    before_steps: Callable[[int], None] | None = None
    """In the block, before the first step."""
    after_steps: Callable[[int], object] = lambda _rank: None
    """In the block, after the last step."""
    health: Health | None = None
    agreement: AgreementName = "store"
    model_in_step: Callable[[int, int, nn.Module], object] = lambda _rank, _step, _model: None
    """Called with (rank, step, model) after the optimizer."""
    watch: Callable[[int, int, TrainerHooks], object] = lambda _rank, _step, _hooks: None
    """Called with (rank, step, hooks) after that."""

    def train(self, rank: int) -> None:
        """Train on this rank."""
        logging.basicConfig(
            level=logging.INFO, format="%(relativeCreated)d %(name)s %(message)s", force=True
        )
        torch.manual_seed(rank)
        data = _Slow(self.slow_data_s / BATCH)
        sampler = ResumableSampler(len(data), seed=3)
        loader: DataLoader[Any] = DataLoader(
            data, batch_size=BATCH, sampler=sampler, num_workers=self.workers, generator=_seeded(7)
        )
        model = DistributedDataParallel(_network(self.width))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        state = TrainState(
            model=model, optimizer=optimizer, scheduler=schedule, scaler=None, data=sampler
        )
        with TrainerHooks(
            state,
            checkpoint_dir=self.checkpoint_url or self.checkpoint_dir,
            save_every=self.save_every,
            local=self.local,
            writers_at_once=self.writers_at_once,
            always_stop=self.always_stop,
            health=self.health,
            agreement=self.agreement,
        ) as hooks:
            batches = hooks.batches(loader)
            model(torch.zeros(4, 4)).sum().backward()
            model.zero_grad()
            if self.before_steps is not None:
                self.before_steps(rank)
            for step in self._steps(hooks):
                if step == self.exit_in_step:
                    wait_until(self.may_exit)
                    os._exit(9)
                if self.in_step is not None:
                    self.in_step(rank, step)
                if self._is_stopped_within(hooks, rank, step):
                    break
                ids, inputs = next(batches)
                loss = model(inputs).square().mean()
                loss.backward()
                optimizer.step()
                self.model_in_step(rank, step, model)
                self.watch(rank, step, hooks)
                optimizer.zero_grad()
                self._log(rank, step, ids.tolist(), optimizer.param_groups[0]["lr"], loss.item())
                schedule.step()
                time.sleep(self.step_s)
            self.after_steps(rank)
        if dist.is_initialized():
            dist.destroy_process_group()

    def _is_stopped_within(self, hooks: TrainerHooks, rank: int, step: int) -> bool:
        for part in range(self.parts):
            self.in_part(rank, step, part)
            dist.barrier()
            if hooks.boundary():
                return True
        return False

    def _steps(self, hooks: TrainerHooks) -> Iterator[int]:
        if self.first_until is not None:
            yield from hooks.steps(until=self.first_until)
        yield from hooks.steps(until=self.steps)

    def _log(self, rank: int, step: int, ids: list[int], lr: float, loss: float) -> None:
        record = {"step": step, "ids": ids, "lr": lr, "loss": loss}
        with (self.log_dir / f"rank_{rank}.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps(record) + "\n")


def _network(width: int) -> nn.Module:
    torch.manual_seed(11)  # DDP broadcasts rank 0's, this makes them equal from the start
    network = nn.Sequential(
        nn.Linear(4, width), nn.Linear(width, width), nn.Dropout(0.2), nn.Linear(width, 1)
    )
    torch.manual_seed(1000 + dist.get_rank())
    return network


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
