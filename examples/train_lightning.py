"""A Lightning training that survives the loss of its node: Python's manual, read by a small GPT.

Start it, and start it again with the same command line as often as you like::

    reprieve-trainer launch --nproc-per-node=2 examples/train_lightning.py --checkpoint-dir /tmp/l
"""

import argparse
import os
import time

import torch
from gpt import Gpt, Manual
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch.utils.data import DataLoader

from trainer_hooks import ResumableSampler
from trainer_hooks.integrations.lightning import TrainerHooksCallback


class Reader(LightningModule):
    """Guesses the next character."""

    def __init__(self, vocabulary: int, min_step_s: float) -> None:
        super().__init__()
        self.gpt, self.min_step_s = Gpt(vocabulary), min_step_s

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        """Return the loss of a batch."""
        time.sleep(self.min_step_s)
        return self.gpt(*batch[1:])  # type: ignore[no-any-return]  # torch types no module's call

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Return the optimizer, and a learning rate that falls with every step."""
        adam = torch.optim.AdamW(self.parameters(), lr=3e-3)
        falling = torch.optim.lr_scheduler.LambdaLR(adam, lambda n: 1 / (1 + n / 100))
        return {"optimizer": adam, "lr_scheduler": {"scheduler": falling, "interval": "step"}}


def main() -> None:
    """Train on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True, help="a path that all ranks share")
    parser.add_argument("--steps", type=int, default=300, help="where the run ends")
    parser.add_argument("--save-every", type=int, default=50, help="steps between checkpoints")
    parser.add_argument("--min-step-s", type=float, default=0.0, help="sleep as long in each")
    told = parser.parse_args()
    seed_everything(1)
    data, own = Manual(), torch.Generator()  # the loader's own: it takes none of the model's draws
    loader = DataLoader(data, 4, sampler=ResumableSampler(len(data), seed=1), generator=own)
    saves = {"checkpoint_dir": told.checkpoint_dir, "save_every": told.save_every}
    survive = TrainerHooksCallback(loader, **saves)
    ranks = {"devices": int(os.environ.get("LOCAL_WORLD_SIZE", "1")), "max_steps": told.steps}
    trainer = Trainer(callbacks=[survive], enable_checkpointing=False, logger=False, **ranks)
    trainer.fit(Reader(data.vocabulary, told.min_step_s), survive.batches)


if __name__ == "__main__":
    main()
