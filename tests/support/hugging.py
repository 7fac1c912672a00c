"""A run of milliseconds with a Transformers Trainer: what a user of its would write, no more."""

import json
import logging
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments

from tests.support.flags import put_flag
from trainer_hooks.integrations.transformers import Resumable


class SurvivingTrainer(Resumable, Trainer):
    """As the documentation has it."""


class Net(nn.Module):
    """A network with dropout, so that random numbers have to come back too."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(11)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        self.seen: list[tuple[list[int], float]] = []

    def forward(
        self,
        ids: torch.Tensor,
        inputs: torch.Tensor,
        return_loss: bool = True,  # noqa: FBT001, FBT002 - by which a Trainer knows that it may
    ) -> dict[str, torch.Tensor]:
        """Return the loss of a batch, and something to evaluate."""
        assert return_loss
        found = self.net(inputs)
        loss = found.square().mean()
        if self.training:
            self.seen.append((ids.tolist(), loss.item()))
        return {"loss": loss, "found": found}


class Data(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """97 samples that know who they are."""

    def __init__(self) -> None:
        self.inputs = torch.rand(97, 4, generator=torch.Generator().manual_seed(5))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"ids": torch.tensor(index), "inputs": self.inputs[index]}


@dataclass(frozen=True, kw_only=True)
class Hugging:
    """What a run does; the same for each start of it, but for the notice."""

    place: Path
    """Where its checkpoints and its log are."""
    notice: tuple[int, int] | None = None
    """The rank and the step in which its node, and no other, gets a notice."""
    arguments: dict[str, Any] | None = None
    """What else the Trainer is told; 30 steps are the default."""
    callbacks: tuple[TrainerCallback, ...] = ()

    def train(self, rank: int) -> None:
        """Train on this rank, which is a node of its own."""
        logging.basicConfig(level=logging.INFO, force=True)
        warnings.simplefilter("ignore")  # its own
        run_dir = self.place / f"run_{rank}"
        run_dir.mkdir(parents=True, exist_ok=True)
        os.environ["REPRIEVE_RUN_DIR"] = str(run_dir)
        told = {"max_steps": 30, **(self.arguments or {})}
        arguments = TrainingArguments(
            output_dir=str(self.place / "own"),
            use_cpu=True,
            per_device_train_batch_size=4,
            learning_rate=0.01,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            ddp_backend="gloo",
            seed=3,
            **told,
        )
        trainer = SurvivingTrainer(
            model=Net(),
            args=arguments,
            train_dataset=Data(),
            eval_dataset=Data(),
            callbacks=[_Log(self, rank), *self.callbacks],
            hooks={
                "checkpoint_dir": self.place / "checkpoints",
                "save_every": 10,
                "always_stop": True,
            },
        )
        torch.manual_seed(1000 + rank)
        trainer.train()
        dist.destroy_process_group()


class _Log(TrainerCallback):
    """Writes what each step was, and gives the notice in one of them."""

    def __init__(self, run: Hugging, rank: int) -> None:
        self._run, self._rank, self._rate = run, rank, 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:  # noqa: ANN401 - its own
        """Be in a step."""
        del args, control
        self._rate = named["optimizer"].param_groups[0]["lr"]
        if self._run.notice == (self._rank, state.global_step):
            put_flag(self._run.place / f"run_{self._rank}")

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:  # noqa: ANN401 - likewise
        """Write the step."""
        del args, control
        seen = named["model"].seen
        line = {
            "step": state.global_step - 1,
            "ids": [one for of_batch, _ in seen for one in of_batch],
            "lr": self._rate,
            "loss": [loss for _, loss in seen],
        }
        seen.clear()
        with (self._run.place / f"rank_{self._rank}.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")
        time.sleep(0.01)
