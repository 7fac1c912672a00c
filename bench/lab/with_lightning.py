"""A training with Lightning, to be stopped in its own way and in ours. Run by torchrun.

Lightning hears SIGTERM. Before each batch rank 0 broadcasts to the others whether it has; all
raise, and ``ModelCheckpoint(save_on_exception=True)`` saves.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from trainer_hooks import ResumableSampler
from trainer_hooks.integrations.lightning import TrainerHooksCallback

STEP_S = 0.05

SAVE_EVERY = 10

BATCH = 4


class Module(LightningModule):
    """The same in both ways."""

    def __init__(self) -> None:
        super().__init__()
        seed_everything(11)
        self.net = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.2), nn.Linear(64, 1))
        self.ids: list[int] = []

    def training_step(self, batch: Any) -> torch.Tensor:  # noqa: ANN401 - ids, and what is theirs
        """Return the loss of a batch."""
        ids, inputs = batch
        self.ids = ids.tolist()
        loss: torch.Tensor = self.net(inputs).square().mean()
        return loss

    def configure_optimizers(self) -> Any:  # noqa: ANN401 - Lightning's own
        """Return an optimizer, and a schedule that goes by steps."""
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n / 10))
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


class Log(Callback):
    """Writes what each step was."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._rate = 0.0

    def on_train_batch_start(self, trainer: Trainer, *_: object) -> None:
        """Note the learning rate that the step has."""
        self._rate = trainer.optimizers[0].param_groups[0]["lr"]

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, *_: object) -> None:  # noqa: ANN401 - Lightning's own
        """Log the step."""
        record = {"step": trainer.global_step - 1, "ids": module.ids, "lr": self._rate}
        with (self._directory / f"rank_{trainer.global_rank}.jsonl").open("a") as file:
            file.write(json.dumps({**record, "loss": outputs["loss"].item(), "pid": os.getpid()}))
            file.write("\n")
        time.sleep(STEP_S)


def fit(options: argparse.Namespace, *callbacks: Callback) -> tuple[Trainer, Module]:
    """Return what is to be trained, and by whom."""
    trainer = Trainer(
        accelerator="cpu",
        strategy="ddp",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        max_steps=options.until,
        callbacks=[Log(options.step_log), *callbacks],
        logger=False,
        enable_checkpointing=any(isinstance(one, ModelCheckpoint) for one in callbacks),
        enable_progress_bar=False,
    )
    return trainer, Module()


def train_in_our_way(options: argparse.Namespace, data: TensorDataset) -> None:
    """With TrainerHooks."""
    sampler = ResumableSampler(len(data), seed=3)
    loader: Any = DataLoader(data, BATCH, sampler=sampler, generator=torch.Generator())
    survive = TrainerHooksCallback(
        loader, checkpoint_dir=options.saves, save_every=SAVE_EVERY, always_stop=True
    )
    trainer, module = fit(options, survive)
    trainer.fit(module, survive.batches)


def train_in_its_own_way(options: argparse.Namespace, data: TensorDataset) -> None:
    """With a save every few steps, and one at the SIGTERM."""
    saving = ModelCheckpoint(
        options.saves, every_n_train_steps=SAVE_EVERY, save_last=True, save_on_exception=True
    )
    trainer, module = fit(options, saving)
    last = options.saves / "last.ckpt"
    loader: Any = DataLoader(data, BATCH, shuffle=True, generator=seeded(7))
    trainer.fit(module, loader, ckpt_path=str(last) if last.exists() else None)


def seeded(seed: int) -> torch.Generator:
    """Return a generator."""
    return torch.Generator().manual_seed(seed)


def main() -> None:
    """Train on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("ours", "sigterm"), required=True)
    parser.add_argument("--saves", type=Path, required=True, help="where it saves")
    parser.add_argument("--step-log", type=Path, required=True, help="where it logs its steps")
    parser.add_argument("--until", type=int, required=True)
    options = parser.parse_args()
    data = TensorDataset(torch.arange(997), torch.rand(997, 4, generator=seeded(5)))
    (train_in_our_way if options.way == "ours" else train_in_its_own_way)(options, data)


if __name__ == "__main__":
    main()
