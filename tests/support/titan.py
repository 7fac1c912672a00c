"""A Trainer of torchtitan's as far as its checkpointer sees it, on CPU.

torchtitan trains on GPUs only. What its Trainer calls, and in which order, is played here after its
source (torchtitan 0.3.0, trainer.py and train.py); optimizers, schedules, data loader and
settings are torchtitan's own.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import IterableDataset
from torchtitan.components.dataloader import ParallelAwareDataloader
from torchtitan.components.optimizer import LRSchedulersContainer, default_adamw

from tests.support.flags import put_flag
from trainer_hooks.integrations.torchtitan import HooksCheckpointer


class Numbers(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    """A stream without end, another one on each rank, that knows where it is."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._next = 0

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        while True:
            number = self._next * 10 + self._rank
            self._next += 1
            chance = torch.Generator().manual_seed(number)
            yield torch.tensor(number), torch.rand(4, generator=chance)

    def state_dict(self) -> dict[str, Any]:
        """Return the position."""
        return {"next": self._next}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a position."""
        self._next = state_dict["next"]


@dataclass(kw_only=True)
class Titan:
    """One start of a training on one rank."""

    place: Path
    """Where its checkpoints and its log are."""
    steps: int = 30
    notice: tuple[int, int] | None = None
    """The rank and the step in which its node, and no other, gets a notice."""
    fails_in: int | None = None
    """Raise in this step."""
    settings: dict[str, Any] = field(default_factory=dict)
    """More of the checkpointer's."""
    before: Callable[[nn.Module], object] = lambda _model: None
    """Called with the model once it is made."""

    def train(self, rank: int) -> None:
        """Do what torchtitan's train.py does."""
        logging.basicConfig(level=logging.INFO, force=True)
        self.place.mkdir(exist_ok=True)
        run_dir = self.place / f"run_{rank}"
        run_dir.mkdir(exist_ok=True)
        os.environ["REPRIEVE_RUN_DIR"] = str(run_dir)
        self.rank = rank
        self._build(rank)
        try:
            self._train()
        except Exception:
            self.checkpointer.close()
            raise
        self.checkpointer.close()
        dist.destroy_process_group()

    def state_dict(self) -> dict[str, Any]:
        """Return what torchtitan's Trainer keeps of itself."""
        return {"step": self.step, "ntokens_seen": self.ntokens_seen}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set it."""
        self.step = state_dict["step"]
        self.ntokens_seen = state_dict["ntokens_seen"]

    def _build(self, rank: int) -> None:
        self.step = self.ntokens_seen = 0
        self.config = SimpleNamespace(training=SimpleNamespace(steps=self.steps))
        torch.manual_seed(11)
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        self.before(model)
        mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("shard",))
        fully_shard(model, mesh=mesh)
        torch.manual_seed(1000 + rank)
        self.model: Any = model
        optimizer = default_adamw(lr=0.01)
        optimizer.implementation = "for-loop"
        self.optimizers: Any = optimizer.build(model_parts=[model])
        self.schedules: Any = LRSchedulersContainer.Config(warmup_steps=5).build(
            optimizers=self.optimizers, training_steps=30
        )
        self.data = ParallelAwareDataloader(
            Numbers(rank), rank, dist.get_world_size(), batch_size=4
        )
        settings = {"interval": 10, "keep_latest_k": 3, "always_stop": True, **self.settings}
        self.checkpointer = HooksCheckpointer.Config(
            enable=True, folder="checkpoints", **settings
        ).build(
            dataloader=self.data,
            model_parts=[model],
            optimizers=self.optimizers,
            lr_schedulers=self.schedules,
            states={"train_state": self},
            sd_adapter=None,
            base_folder=str(self.place),
        )

    def _train(self) -> None:
        self.checkpointer.load(step=-1)
        batches = iter(self.data)
        while self.step < self.steps:
            self.step += 1
            self.train_step(batches)
            self.checkpointer.save(self.step, last_step=self.step == self.steps)

    def train_step(self, batches: Iterator[Any]) -> None:
        """Do what a step of torchtitan's does with its checkpointer, and log it."""
        if self.notice == (self.rank, self.step):
            put_flag(self.place / f"run_{self.rank}")
        if self.fails_in == self.step:
            raise ArithmeticError("the loss is no number")
        self.optimizers.zero_grad()
        ids, inputs = next(batches)
        loss = self.model(inputs).square().mean()
        loss.backward()
        self.checkpointer.maybe_wait_for_staging()
        self.optimizers.step()
        [rate] = self.schedules.get_metrics().values()
        self.schedules.step()
        self.ntokens_seen += inputs.numel()
        record = {"step": self.step, "ids": ids.tolist(), "lr": rate, "loss": loss.item()}
        with (self.place / f"rank_{self.rank}.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps(record) + "\n")
        time.sleep(0.01)
