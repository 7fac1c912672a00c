"""A loop of Accelerate's that survives the loss of its node: Python's manual, read by a small GPT.

Start it, and start it again with the same command line as often as you like::

    reprieve-trainer launch --nproc-per-node=2 examples/train_accelerate.py --checkpoint-dir /tmp/a
"""

import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from gpt import Gpt, Manual
from torch.utils.data import DataLoader

from trainer_hooks import ResumableSampler, TrainerHooks
from trainer_hooks.integrations.accelerate import Prepared


def main() -> None:
    """Train on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True, help="a path that all ranks share")
    parser.add_argument("--steps", type=int, default=300, help="where the run ends")
    parser.add_argument("--save-every", type=int, default=50, help="steps between checkpoints")
    parser.add_argument("--accumulate", type=int, default=2, help="batches a rank and step")
    parser.add_argument("--min-step-s", type=float, default=0.0, help="slow the steps down to this")
    options = parser.parse_args()

    on_cpu = not torch.cuda.is_available()
    accelerator = Accelerator(cpu=on_cpu, gradient_accumulation_steps=options.accumulate)
    set_seed(1, device_specific=True)
    data = Manual()
    loader = DataLoader(data, 4, sampler=ResumableSampler(len(data), seed=1), num_workers=1)
    model = Gpt(data.vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n / 100))
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    prepared = Prepared(accelerator, model, optimizer, loader, scheduler)
    with TrainerHooks(
        prepared.state, checkpoint_dir=options.checkpoint_dir, save_every=options.save_every
    ) as hooks:
        batches = prepared.batches(hooks)
        for _ in hooks.steps(until=options.steps):
            for _, characters, following in next(batches):
                with accelerator.accumulate(model):
                    loss = model(characters, following)
                    accelerator.backward(loss)
                    hooks.note_loss(loss)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
            time.sleep(options.min_step_s)
    accelerator.end_training()


if __name__ == "__main__":
    main()
