"""A loop whose global batch stays what it was while nodes come and go. Copy this.

Started by node.sh beside it, on each node. The plan shares the batch out among the ranks that there
are this time, in micro-batches of equal weight for each sample, so the loss goes on as if nothing
had happened.
"""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from trainer_hooks import (
    MicroBatches,
    ResumableSampler,
    TrainerHooks,
    TrainState,
    plan_accumulation,
)

log = logging.getLogger("train")

GLOBAL_BATCH = 24
MOST_AT_ONCE = 8
"""Samples that one rank's memory takes."""


def main() -> None:
    """Train on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint_dir", help="a path that all nodes share, or a URL")
    parser.add_argument("--steps", type=int, default=1000, help="where the run ends")
    parser.add_argument("--min-step-s", type=float, default=0.0, help="slow the steps down to this")
    parser.add_argument(
        "--always-stop", action="store_true", help="on a notice, however near the end of the run"
    )
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    torch.manual_seed(1)
    data = TensorDataset(torch.randn(1000, 4), torch.randn(1000, 1))
    sampler = ResumableSampler(len(data), seed=1)
    plan = plan_accumulation(GLOBAL_BATCH, dist.get_world_size(), MOST_AT_ONCE)
    micro = MicroBatches(sampler, plan)
    loader = DataLoader(data, batch_sampler=micro, generator=torch.Generator())
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=sampler)
    with TrainerHooks(
        state,
        checkpoint_dir=options.checkpoint_dir,
        save_every=50,
        always_stop=options.always_stop,
    ) as hooks:
        batches = hooks.batches(loader)
        for step in hooks.steps(until=options.steps):
            for weight in micro.weights:
                inputs, targets = next(batches)
                loss = nn.functional.mse_loss(model(inputs), targets)
                (loss * weight).backward()  # type: ignore[no-untyped-call]  # torch has not typed it
            optimizer.step()
            optimizer.zero_grad()
            if step % 10 == 0 and dist.get_rank() == 0:
                log.info("step %d on %d ranks", step, dist.get_world_size())
            time.sleep(options.min_step_s)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
