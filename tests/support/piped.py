"""A run whose model is cut into two stages of a pipeline, alone or with replicas of each."""

import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from extras import Ema
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from trainer_hooks import LocalSaves, ResumableSampler, TrainerHooks, TrainState
from trainer_hooks.step_log import VARIABLE

STAGES, GLOBAL, WIDTH = 2, 8, 8
"""Stages of the pipeline, samples of a step, and what goes from one stage to the next."""


class Layer(nn.Module):
    """A layer with a norm and dropout, so that each stage draws random numbers."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Map float[batch, WIDTH] to the same."""
        out: torch.Tensor = inputs + self.dropout(torch.relu(self.linear(self.norm(inputs))))
        return out


class Stage(nn.Module):
    """Some layers of a model of four, under the names that they have in the whole model."""

    def __init__(self, numbers: range, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({str(number): Layer(dropout) for number in numbers})

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Pass the layers."""
        for layer in self.layers.values():
            inputs = layer(inputs)
        return inputs


def own_names(stage: int, dropout: float) -> nn.Module:
    """Return a stage whose layers have the whole model's numbers."""
    return Stage(range(2 * stage, 2 * stage + 2), dropout)


def same_names(stage: int, dropout: float) -> nn.Module:
    """Return a stage that counts its layers from 0, as the other one does."""
    torch.manual_seed(20 + stage)
    return Stage(range(2), dropout)


@dataclass(frozen=True, kw_only=True)
class Piped:
    """What a start of the run does; two ranks are two stages, four are two replicas of each."""

    checkpoint_dir: Path
    log_dir: Path
    """Of the step logs."""
    until: int
    way: str = "ddp"
    """What replicas of a stage are: ``ddp`` or ``fsdp2``."""
    dropout: float = 0.2
    local: LocalSaves | None = None
    stage: Callable[[int, float], nn.Module] = own_names
    stages: tuple[int, ...] = (0, 1)
    """Which stage the ranks of each have, for a start that is wrong."""
    in_step: Callable[[int, int, nn.Module], object] = lambda _rank, _step, _model: None
    """Called with (rank, step, model) after the optimizer."""

    def train(self, rank: int) -> None:
        """Train on this rank, with a step log."""
        logging.basicConfig(level=logging.INFO, force=True)
        os.environ[VARIABLE] = str(self.log_dir)
        replicas = dist.get_world_size() // STAGES
        mesh = init_device_mesh("cpu", (STAGES, replicas), mesh_dim_names=("stage", "replica"))
        stage, mine = rank // replicas, rank % replicas
        torch.manual_seed(11 + stage)
        model = self._replicated(self.stage(self.stages[stage], self.dropout), mesh["replica"])
        torch.manual_seed(1000 + rank)
        pipe = PipelineStage(
            model, stage, STAGES, torch.device("cpu"), group=mesh.get_group("stage")
        )
        schedule = ScheduleGPipe(pipe, 2, loss_fn=nn.functional.mse_loss)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
        sampler = ResumableSampler(53, seed=3, rank=mine, world_size=replicas)
        inputs = torch.rand(53, WIDTH, generator=torch.Generator().manual_seed(5))
        loader: DataLoader[Any] = DataLoader(
            TensorDataset(inputs), GLOBAL // replicas, sampler=sampler, generator=torch.Generator()
        )
        ema = Ema(model.module if isinstance(model, DistributedDataParallel) else model, decay=0.9)
        state = TrainState(
            model=model,
            optimizer=optimizer,
            scheduler=rates,
            scaler=None,
            data=sampler,
            extras={"ema": ema},
        )
        with TrainerHooks(
            state, checkpoint_dir=self.checkpoint_dir, save_every=5, local=self.local
        ) as hooks:
            if replicas > 1 and self.way == "ddp":
                # Its first sum in a process is in another order (README): here of nothing.
                _trained(schedule, torch.zeros(GLOBAL // replicas, WIDTH), stage)
                optimizer.zero_grad()
            batches = hooks.batches(loader)  # on each stage: all know which samples a step has
            for step in hooks.steps(until=self.until):
                (batch,) = next(batches)
                hooks.note_loss(_trained(schedule, batch, stage))
                optimizer.step()
                optimizer.zero_grad()
                ema.update()
                rates.step()
                self.in_step(rank, step, model)
        dist.destroy_process_group()

    def _replicated(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        if mesh.size() == 1:
            return model
        if self.way == "fsdp2":
            fully_shard(model, mesh=mesh)
            return model
        # Of several forwards before a backward DDP would rebuild its buckets wrongly (torch 2.13).
        return DistributedDataParallel(
            model, process_group=mesh.get_group(), find_unused_parameters=True
        )

    def logged(self, ranks: int) -> list[list[dict[str, Any]]]:
        """Return what each rank has logged: what has to be the same, bit for bit."""
        names = ("step", "ids", "lr", "loss", "state", "rng")
        return [
            [
                {name: json.loads(line)[name] for name in names}
                for line in (self.log_dir / f"rank_{rank}.jsonl").read_text().splitlines()
            ]
            for rank in range(ranks)
        ]


def _trained(schedule: ScheduleGPipe, batch: torch.Tensor, stage: int) -> float:
    """Send a batch through the pipeline and back; return the loss, 0 where it is not known."""
    if stage == 0:
        schedule.step(batch)
        return 0.0
    losses: list[torch.Tensor] = []
    schedule.step(target=batch.flip(1), losses=losses)
    return float(torch.stack(losses).mean().detach())
