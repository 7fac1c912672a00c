"""A run of milliseconds with Lightning: what a user of its would write, and nothing more."""

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
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.support.flags import put_flag
from trainer_hooks import ResumableSampler
from trainer_hooks.integrations.lightning import TrainerHooksCallback


class Module(LightningModule):
    """A network with dropout, so that random numbers have to come back too."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(11)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        self.seen: list[tuple[list[int], float]] = []

    def training_step(self, batch: Any) -> torch.Tensor:  # noqa: ANN401 - ids, and what is theirs
        """Return the loss of a batch."""
        ids, inputs = batch
        loss: torch.Tensor = self.net(inputs).square().mean()
        self.seen.append((ids.tolist(), loss.item()))
        return loss

    def validation_step(self, batch: Any) -> None:  # noqa: ANN401 - likewise
        """Log something for other callbacks to look at."""
        self.log("val_loss", self.net(batch[1]).square().mean(), sync_dist=True)

    def configure_optimizers(self) -> Any:  # noqa: ANN401 - Lightning's own
        """Return an optimizer and a schedule that goes by steps."""
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n / 10))
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


@dataclass(frozen=True, kw_only=True)
class Enlightened:
    """What a run does; the same for each start of it, but for the notice."""

    place: Path
    """Where its checkpoints and its log are."""
    notice: tuple[int, int] | None = None
    """The rank and the step in which its node, and no other, gets a notice."""
    accumulate: int = 1
    validates: bool = False
    trainer: dict[str, Any] | None = None
    """What else the Trainer is told; 30 steps are the default."""
    callbacks: tuple[Callback, ...] = ()

    def train(self, rank: int) -> None:
        """Train on this rank, which is a node of its own."""
        logging.basicConfig(level=logging.INFO, force=True)
        warnings.simplefilter("ignore")  # Lightning's own, of torch and of itself
        run_dir = self.place / f"run_{rank}"
        run_dir.mkdir(parents=True, exist_ok=True)
        os.environ["REPRIEVE_RUN_DIR"] = str(run_dir)
        data = TensorDataset(torch.arange(97), torch.rand(97, 4, generator=_seeded(5)))
        loader: Any = DataLoader(
            data, 4, sampler=ResumableSampler(97, seed=3), generator=torch.Generator()
        )
        survive = TrainerHooksCallback(
            loader, checkpoint_dir=self.place / "checkpoints", save_every=10, always_stop=True
        )
        module = Module()
        torch.manual_seed(1000 + rank)
        told = {"max_steps": 30} if self.trainer is None else self.trainer
        trainer = Trainer(
            accelerator="cpu",
            strategy="ddp",
            devices=int(os.environ["WORLD_SIZE"]),
            callbacks=[_Log(self, rank), *self.callbacks, survive],
            accumulate_grad_batches=self.accumulate,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **told,
        )
        validation = DataLoader(data, 16) if self.validates else None
        trainer.fit(module, survive.batches, validation)
        dist.destroy_process_group()


class _Log(Callback):
    """Writes what each step was, and gives the notice in one of them."""

    def __init__(self, run: Enlightened, rank: int) -> None:
        self._run, self._rank, self._step = run, rank, -1

    def on_train_batch_start(self, trainer: Trainer, *_: object) -> None:
        """Be in a step."""
        self._step = trainer.global_step
        if self._run.notice == (self._rank, self._step):
            put_flag(self._run.place / f"run_{self._rank}")

    def on_train_batch_end(self, trainer: Trainer, module: Any, *_: object) -> None:  # noqa: ANN401 - Module
        """Write the step once it is whole."""
        if trainer.global_step == self._step:
            return
        ids = [one for of_batch, _ in module.seen for one in of_batch]
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        line = {
            "step": self._step,
            "ids": ids,
            "lr": rate,
            "loss": [loss for _, loss in module.seen],
        }
        line["loss"].append(trainer.current_epoch)
        module.seen.clear()
        with (self._run.place / f"rank_{self._rank}.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")
        time.sleep(0.01)


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
