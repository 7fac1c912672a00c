"""Train a small GPT that survives the loss of its node. Copy this.

Start it, and start it again with the same command line as often as you like::

    reprieve-trainer launch --nproc-per-node=2 examples/train_gpt.py --checkpoint-dir /tmp/run-7
"""

import argparse
import json
import logging
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from gpt import CONTEXT, Gpt, Manual
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from trainer_hooks import ResumableSampler, TrainerHooks, TrainState


def main() -> None:
    """Train on this rank."""
    options = parse_options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    device = meet()
    torch.manual_seed(options.seed + dist.get_rank())

    data = Manual()
    sampler = ResumableSampler(len(data), seed=options.seed)
    loader = DataLoader(
        data, options.batch_size, sampler=sampler, num_workers=2, generator=torch.Generator()
    )
    model = DistributedDataParallel(Gpt(data.vocabulary).to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_up_then_cosine(options.steps))
    state = TrainState(
        model=model, optimizer=optimizer, scheduler=scheduler, scaler=None, data=sampler
    )

    with TrainerHooks(
        state,
        checkpoint_dir=options.checkpoint_dir,
        save_every=options.save_every,
        always_stop=options.always_stop,
    ) as hooks:
        batches = hooks.batches(loader)
        throw_away_first_backward(model, options.batch_size, device)
        for step in hooks.steps(until=options.steps):
            started = time.monotonic()
            ids, characters, following = next(batches)
            loss = model(characters.to(device), following.to(device))
            loss.backward()
            hooks.note_loss(loss)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if options.log_dir:
                log_step(options.log_dir, step, ids.tolist(), optimizer.param_groups[0]["lr"], loss)
            scheduler.step()
            if options.evaluate_every and (step + 1) % options.evaluate_every == 0:
                evaluate(model, data, device, options.evaluate_s)
            time.sleep(max(0.0, options.min_step_s - (time.monotonic() - started)))
    dist.destroy_process_group()


def meet() -> torch.device:
    """Meet the other ranks, NCCL on GPUs and gloo without; return this rank's device."""
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    return device


def throw_away_first_backward(model: nn.Module, batch_size: int, device: torch.device) -> None:
    """Let DDP rebuild its buckets now, so that a resumed run adds in the order of an unbroken one.

    Without it a run is bitwise equal after a resume at two ranks only.
    """
    nothing = torch.zeros(batch_size, CONTEXT, dtype=torch.int64, device=device)
    model(nothing, nothing).backward()
    model.zero_grad()


def warm_up_then_cosine(steps: int, warm_up: int = 20) -> Callable[[int], float]:
    """Return the factor of the learning rate as a function of the step alone."""

    def factor(step: int) -> float:
        if step < warm_up:
            return (step + 1) / warm_up
        return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up)))

    return factor


@torch.no_grad()
def evaluate(model: nn.Module, data: Manual, device: torch.device, at_least_s: float) -> None:
    """Measure the loss on a few fixed pieces; takes ``at_least_s`` seconds, to stand for more."""
    started = time.monotonic()
    model.eval()
    for index in range(0, len(data), max(1, len(data) // 8)):
        _, characters, following = data[index]
        model(characters[None].to(device), following[None].to(device))
    model.train()
    time.sleep(max(0.0, at_least_s - (time.monotonic() - started)))


def log_step(directory: Path, step: int, ids: list[int], lr: float, loss: torch.Tensor) -> None:
    """Append what this rank has just done, for people and for tests."""
    directory.mkdir(parents=True, exist_ok=True)
    record = {"step": step, "ids": ids, "lr": lr, "loss": loss.item(), "time": time.time()}
    with (directory / f"rank_{dist.get_rank()}.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")


def steps_or_word(text: str) -> int | str:
    """Return a number of steps, or the word for how the run is to choose it."""
    return int(text) if text.isdecimal() else text


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--checkpoint-dir", required=True, help="a path that all ranks share, or a URL"
    )
    parser.add_argument("--steps", type=int, default=300, help="where the run ends")
    parser.add_argument(
        "--save-every", type=steps_or_word, default=50, help="steps between checkpoints, or auto"
    )
    parser.add_argument("--batch-size", type=int, default=8, help="samples a rank and step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-dir", type=Path, help="write ids, learning rate and loss here")
    parser.add_argument("--min-step-s", type=float, default=0.0, help="slow the steps down to this")
    parser.add_argument(
        "--always-stop", action="store_true", help="on a notice, however near the end of the run"
    )
    parser.add_argument("--evaluate-every", type=int, default=0, help="steps; 0 is never")
    parser.add_argument(
        "--evaluate-s", type=float, default=0.0, help="make an evaluation this long"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
