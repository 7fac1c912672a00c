"""A run of milliseconds with Accelerate: what a user of its would write, and nothing more."""

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.support.flags import put_flag
from trainer_hooks import ResumableSampler, TrainerHooks
from trainer_hooks.integrations.accelerate import Prepared


class Counter:
    """Something of the user's own, given to ``register_for_checkpointing``."""

    def __init__(self) -> None:
        self.steps = 0

    def state_dict(self) -> dict[str, Any]:
        """Return the count."""
        return {"steps": self.steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the count."""
        self.steps = state_dict["steps"]


@dataclass(frozen=True, kw_only=True)
class Accelerated:
    """What a run does; the same for each start of it, but for the notice and the hook."""

    place: Path
    """Where its checkpoints and its log are."""
    steps: int = 30
    accumulate: int = 2
    split_batches: bool = False
    notice: tuple[int, int] | None = None
    """The rank and the step in which its node, and no other, gets a notice."""
    in_step: Callable[[int, Accelerator, Prepared], object] = lambda _step, _accelerator, _it: None
    """Called with (step, accelerator, prepared), at the end of each step."""

    def train(self, rank: int) -> None:
        """Train on this rank, which is a node of its own."""
        logging.basicConfig(level=logging.INFO, force=True)
        run_dir = self.place / f"run_{rank}"
        run_dir.mkdir(parents=True, exist_ok=True)
        os.environ["REPRIEVE_RUN_DIR"] = str(run_dir)
        accelerator = Accelerator(
            cpu=True,
            gradient_accumulation_steps=self.accumulate,
            dataloader_config=_split() if self.split_batches else None,
        )
        data = TensorDataset(torch.arange(97), torch.rand(97, 4, generator=_seeded(5)))
        loader: Any = DataLoader(data, 4, sampler=ResumableSampler(97, seed=3))
        torch.manual_seed(11)
        model: Any = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        torch.manual_seed(1000 + rank)
        optimizer: Any = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule: Any = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n / 10))
        model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
        counter = Counter()
        prepared = Prepared(accelerator, model, optimizer, loader, schedule)
        accelerator.register_for_checkpointing(counter, prepared)
        with TrainerHooks(
            prepared.state,
            checkpoint_dir=self.place / "checkpoints",
            save_every=10,
            always_stop=True,
        ) as hooks:
            batches = prepared.batches(hooks)
            for step in hooks.steps(until=self.steps):
                if self.notice == (rank, step):
                    put_flag(run_dir)
                ids, losses, rate = [], [], 0.0
                for some, inputs in next(batches):
                    with accelerator.accumulate(model):
                        loss = model(inputs).square().mean()
                        accelerator.backward(loss)
                        optimizer.step()
                        rate = optimizer.param_groups[0]["lr"]
                        schedule.step()
                        optimizer.zero_grad()
                    ids += some.tolist()
                    losses.append(loss.item())
                counter.steps += 1
                self.in_step(step, accelerator, prepared)
                self._log(rank, step, ids, rate, [*losses, counter.steps])
                time.sleep(0.01)
        dist.destroy_process_group()

    def _log(self, rank: int, step: int, ids: list[int], lr: float, loss: list[float]) -> None:
        with (self.place / f"rank_{rank}.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps({"step": step, "ids": ids, "lr": lr, "loss": loss}) + "\n")


def _split() -> Any:  # noqa: ANN401 - Accelerate ships no types
    from accelerate.utils import DataLoaderConfiguration  # noqa: PLC0415 - one test wants it

    return DataLoaderConfiguration(split_batches=True)


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
