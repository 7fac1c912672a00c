"""A training with Accelerate, to be stopped in its own ways and in ours. Run by torchrun.

Accelerate hears no notice. What it has for the purpose is ``save_state``, to be called where the
script wants, and ``set_trigger`` with ``check_trigger``, by which a rank tells all of something.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from trainer_hooks import EXIT_PREEMPTED, ResumableSampler, TrainerHooks
from trainer_hooks.integrations.accelerate import Prepared

STEP_S = 0.05

SAVE_EVERY = 10


class Told:
    """Whether this rank was told to stop; and how far it is, to be saved."""

    def __init__(self) -> None:
        self.is_told = False
        self.step = 0

    def hear(self, *_: object) -> None:
        """Handle SIGTERM."""
        self.is_told = True

    def state_dict(self) -> dict[str, int]:
        """Return what ``save_state`` saves."""
        return {"step": self.step}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Take it back."""
        self.step = state_dict["step"]


class Training:
    """The same in all ways: model, data, optimizer, log."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        seedable = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=3)
        self.accelerator = Accelerator(cpu=True, dataloader_config=seedable)
        data = TensorDataset(torch.arange(997), torch.rand(997, 4, generator=seeded(5)))
        order: dict[str, Any] = {"shuffle": True, "generator": seeded(7)}
        if options.way == "ours":
            order = {"sampler": ResumableSampler(len(data), seed=3)}
        loader: Any = DataLoader(data, 4, **order)
        set_seed(11)
        model = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.2), nn.Linear(64, 1))
        set_seed(1000, device_specific=True)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n / 10))
        self.prepared: Any = self.accelerator.prepare(model, optimizer, loader, schedule)

    def step(self, step: int, ids: torch.Tensor, inputs: torch.Tensor) -> None:
        """Do one step and log it."""
        model, optimizer, _, schedule = self.prepared
        loss = model(inputs).square().mean()
        self.accelerator.backward(loss)
        optimizer.step()
        rate = optimizer.param_groups[0]["lr"]
        schedule.step()
        optimizer.zero_grad()
        record = {"step": step, "ids": ids.tolist(), "lr": rate, "loss": loss.item()}
        path = self.options.step_log / f"rank_{self.accelerator.process_index}.jsonl"
        with path.open("a", encoding="ascii") as file:
            file.write(json.dumps({**record, "pid": os.getpid()}) + "\n")
        time.sleep(STEP_S)


def train_in_our_way(training: Training) -> None:
    """With TrainerHooks."""
    prepared = Prepared(training.accelerator, *training.prepared)
    options = training.options
    with TrainerHooks(
        prepared.state, checkpoint_dir=options.saves, save_every=SAVE_EVERY, always_stop=True
    ) as hooks:
        batches = prepared.batches(hooks)
        for step in hooks.steps(until=options.until):
            for ids, inputs in next(batches):
                training.step(step, ids, inputs)


def train_in_its_own_way(training: Training) -> None:
    """With ``save_state`` every few steps, and after the one in which this rank or any was told."""
    accelerator, options = training.accelerator, training.options
    told = Told()
    signal.signal(signal.SIGTERM, told.hear)
    accelerator.register_for_checkpointing(told)
    if options.saves.exists():
        accelerator.load_state(str(options.saves))
    for ids, inputs in endless(training, told.step):
        training.step(told.step, ids, inputs)
        told.step += 1
        is_stopped = told.is_told
        if options.way == "trigger":
            if told.is_told:
                accelerator.set_trigger()
            is_stopped = accelerator.check_trigger()
        if is_stopped or told.step % SAVE_EVERY == 0:
            accelerator.save_state(str(options.saves))
        if is_stopped:
            sys.exit(EXIT_PREEMPTED)
        if told.step == options.until:
            break


def endless(training: Training, step: int) -> Iterator[Any]:
    """Iterate over epochs from a step on, as Accelerate's documentation resumes one."""
    loader = training.prepared[2]
    epoch, done = divmod(step, len(loader))
    while True:
        loader.set_epoch(epoch)
        yield from training.accelerator.skip_first_batches(loader, done) if done else loader
        epoch, done = epoch + 1, 0


def seeded(seed: int) -> torch.Generator:
    """Return a generator."""
    return torch.Generator().manual_seed(seed)


def main() -> None:
    """Train on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("ours", "save-state", "trigger"), required=True)
    parser.add_argument("--saves", type=Path, required=True, help="where it saves")
    parser.add_argument("--step-log", type=Path, required=True, help="where it logs its steps")
    parser.add_argument("--until", type=int, required=True)
    training = Training(parser.parse_args())
    is_ours = training.options.way == "ours"
    (train_in_our_way if is_ours else train_in_its_own_way)(training)
    training.accelerator.end_training()


if __name__ == "__main__":
    main()
