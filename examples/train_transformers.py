"""A Transformers training that survives the loss of its node: Python's manual, and a small GPT.

Start it, and start it again with the same command line as often as you like::

    reprieve-trainer launch --nproc-per-node 2 examples/train_transformers.py --checkpoint-dir /t
"""

import argparse
import time

import torch
from gpt import Gpt, Manual
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments, set_seed

from trainer_hooks.integrations.transformers import Resumable


class SurvivingTrainer(Resumable, Trainer):
    """Any Trainer will do."""


class Reader(nn.Module):
    """Guesses the next character; any model of Transformers will do."""

    def __init__(self, vocabulary: int, min_step_s: float) -> None:
        super().__init__()
        self.gpt, self.min_step_s = Gpt(vocabulary), min_step_s

    def forward(self, characters: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Return the loss of a batch."""
        time.sleep(self.min_step_s)
        return {"loss": self.gpt(characters, labels)}


def batch_of(pieces: list[tuple[Tensor, ...]]) -> dict[str, Tensor]:
    """Put pieces of the manual together."""
    _, characters, following = map(torch.stack, zip(*pieces, strict=True))
    return {"characters": characters, "labels": following}


def main() -> None:
    """Train on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True, help="a path that all ranks share")
    parser.add_argument("--steps", type=int, default=300, help="where the run ends")
    parser.add_argument("--save-every", type=int, default=50, help="steps between checkpoints")
    parser.add_argument("--min-step-s", type=float, default=0.0, help="sleep as long in each")
    told = parser.parse_args()
    set_seed(1)
    data = Manual()
    where, cpu = told.checkpoint_dir, not torch.cuda.is_available()  # or each would train alone
    arguments = TrainingArguments(where, max_steps=told.steps, save_strategy="no", use_cpu=cpu)
    hooks = {"checkpoint_dir": where, "save_every": told.save_every}
    model = Reader(data.vocabulary, told.min_step_s)
    SurvivingTrainer(model, arguments, batch_of, data, hooks=hooks).train()


if __name__ == "__main__":
    main()
