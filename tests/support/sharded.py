"""A run whose model is spread over its ranks, by each of torch's ways; on CPU and gloo."""

import logging
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from extras import Ema
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.utils.data import DataLoader, TensorDataset

from trainer_hooks import ResumableSampler, TrainerHooks, TrainState
from trainer_hooks.step_log import VARIABLE

GLOBAL = 8
"""Samples of a step."""


class Way(StrEnum):
    """How a model is spread."""

    FSDP2 = "fsdp2"
    HSDP = "hsdp"
    TP = "tp"
    TP_FSDP2 = "tp-fsdp2"

    def mesh(self, ranks: int) -> DeviceMesh:
        """Return how ranks stand: those with other data, then those with the same."""
        match self:
            case Way.FSDP2:
                return init_device_mesh("cpu", (ranks,), mesh_dim_names=("shard",))
            case Way.HSDP:
                names = ("replicate", "shard")
                return init_device_mesh("cpu", (2, ranks // 2), mesh_dim_names=names)
            case Way.TP:
                return init_device_mesh("cpu", (ranks,), mesh_dim_names=("tensor",))
            case Way.TP_FSDP2:
                names = ("shard", "tensor")
                return init_device_mesh("cpu", (ranks // 2, 2), mesh_dim_names=names)


class Block(nn.Module):
    """Two layers that tensor parallelism can split, a norm that it leaves whole, and dropout."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Map float[batch, 8] to the same."""
        out: torch.Tensor = self.down(torch.relu(self.up(self.norm(inputs))))
        kept: torch.Tensor = inputs + self.dropout(out)
        return kept


class Net(nn.Module):
    """Blocks, and a head of three rows, which four ranks cannot share evenly."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(2))
        self.head = nn.Linear(8, 3)
        self.seen = nn.Buffer(torch.zeros(3))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Map float[batch, 8] to float[batch, 3]."""
        for block in self.blocks:
            inputs = block(inputs)
        out: torch.Tensor = self.head(inputs)
        self.seen.add_(1)
        return out


@dataclass(frozen=True, kw_only=True)
class Sharded:
    """What a start of the run does."""

    way: Way
    checkpoint_dir: Path
    log_dir: Path
    """Of the step logs."""
    until: int
    dropout: float = 0.0

    def train(self, rank: int) -> None:
        """Train on this rank, with a step log."""
        logging.basicConfig(level=logging.INFO, force=True)
        os.environ[VARIABLE] = str(self.log_dir)
        mesh = self.way.mesh(dist.get_world_size())
        peers = mesh["tensor"].size() if "tensor" in (mesh.mesh_dim_names or ()) else 1
        mine, others = rank // peers, dist.get_world_size() // peers
        torch.manual_seed(11)
        model = spread(Net(self.dropout), self.way, mesh)
        torch.manual_seed(1000 + mine)  # alike on those that have the same data
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
        sampler = ResumableSampler(53, seed=3, rank=mine, world_size=others)
        inputs = torch.rand(53, 8, generator=torch.Generator().manual_seed(5))
        loader: DataLoader[Any] = DataLoader(
            TensorDataset(inputs), GLOBAL // others, sampler=sampler, generator=torch.Generator()
        )
        ema = Ema(model, decay=0.9)
        state = TrainState(
            model=model,
            optimizer=optimizer,
            scheduler=schedule,
            scaler=None,
            data=sampler,
            extras={"ema": ema},
        )
        with TrainerHooks(state, checkpoint_dir=self.checkpoint_dir, save_every=5) as hooks:
            batches = hooks.batches(loader)
            for _ in hooks.steps(until=self.until):
                (batch,) = next(batches)
                loss = (model(batch) - batch[:, :3]).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                ema.update()
                total = loss.detach().clone()
                dist.all_reduce(total)
                hooks.note_loss(total / dist.get_world_size())
                schedule.step()
        dist.destroy_process_group()


def spread(model: Net, way: Way, mesh: DeviceMesh) -> nn.Module:
    """Spread a model over a mesh."""
    if way in {Way.TP, Way.TP_FSDP2}:
        plan: Any = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        for block in model.blocks:
            parallelize_module(block, mesh["tensor"], plan)
    if way is not Way.TP:
        over = mesh["shard"] if way is Way.TP_FSDP2 else mesh
        for block in model.blocks:
            fully_shard(block, mesh=over)
        fully_shard(model, mesh=over)
    return model
