"""A training with Transformers, to be stopped in its own way and in ours. Run by torchrun.

With ``enable_jit_checkpoint`` each rank that hears SIGTERM waits for three seconds, whether it will
be killed, saves at the next step's end and stops. Nobody tells the others.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from trainer_hooks.integrations.transformers import Resumable

STEP_S = 0.25
"""Longer than with others, or the training would end within the three seconds."""

SAVE_EVERY = 10


class SurvivingTrainer(Resumable, Trainer):
    """Ours."""


class Net(nn.Module):
    """The same in both ways."""

    def __init__(self) -> None:
        super().__init__()
        set_seed(11)
        self.net = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.2), nn.Linear(64, 1))
        self.last: dict[str, Any] = {}

    def forward(self, ids: torch.Tensor, inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the loss of a batch."""
        loss = self.net(inputs).square().mean()
        self.last = {"ids": ids.tolist(), "loss": loss.item()}
        return {"loss": loss}


class Log(TrainerCallback):
    """Writes what each step was."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._rate = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:  # noqa: ANN401 - its own
        """Note the learning rate that the step has."""
        del args, state, control
        self._rate = named["optimizer"].param_groups[0]["lr"]

    def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:  # noqa: ANN401 - likewise
        """Log the step."""
        del control
        record = {"step": state.global_step - 1, "lr": self._rate, **named["model"].last}
        with (self._directory / f"rank_{args.process_index}.jsonl").open("a") as file:
            file.write(json.dumps({**record, "pid": os.getpid()}) + "\n")
        time.sleep(STEP_S)


def samples() -> list[dict[str, torch.Tensor]]:
    """Return the data."""
    inputs = torch.rand(997, 4, generator=torch.Generator().manual_seed(5))
    return [{"ids": torch.tensor(at), "inputs": one} for at, one in enumerate(inputs)]


def main() -> None:
    """Train on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("ours", "jit"), required=True)
    parser.add_argument("--saves", type=Path, required=True, help="where it saves")
    parser.add_argument("--step-log", type=Path, required=True, help="where it logs its steps")
    parser.add_argument("--until", type=int, required=True)
    options = parser.parse_args()
    is_ours = options.way == "ours"
    saves = str(options.saves)
    arguments = TrainingArguments(
        saves,
        use_cpu=True,
        max_steps=options.until,
        per_device_train_batch_size=4,
        save_strategy="no" if is_ours else "steps",
        save_steps=SAVE_EVERY,
        enable_jit_checkpoint=not is_ours,
        remove_unused_columns=False,
        disable_tqdm=True,
        seed=3,
    )
    told: dict[str, Any] = {
        "model": Net(),
        "args": arguments,
        "train_dataset": samples(),
        "callbacks": [Log(options.step_log)],
    }
    if is_ours:
        ours = {"checkpoint_dir": saves, "save_every": SAVE_EVERY, "always_stop": True}
        SurvivingTrainer(**told, hooks=ours).train()
    else:
        has_saved = bool([*options.saves.glob("checkpoint-*")])
        Trainer(**told).train(resume_from_checkpoint=has_saved)


if __name__ == "__main__":
    main()
