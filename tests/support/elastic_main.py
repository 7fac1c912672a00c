"""Trains on a fixed global batch, whatever the number of ranks.

Arguments: CHECKPOINT_DIR LOG_DIR STEPS AGREEMENT.

A step takes a while, until the file ``hurry`` is in LOG_DIR.
"""

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from trainer_hooks import ResumableSampler, TrainerHooks, TrainState

SAMPLES = 997
GLOBAL_BATCH = 12
SEED = 3
STEP_S = 0.1


def main() -> None:
    """Train on this rank, and log the samples of each step."""
    checkpoints, log_dir, steps = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = TensorDataset(torch.arange(SAMPLES), torch.rand(SAMPLES, 4))
    sampler = ResumableSampler(len(data), seed=SEED)
    loader: DataLoader[Any] = DataLoader(
        data, GLOBAL_BATCH // dist.get_world_size(), sampler=sampler, generator=torch.Generator()
    )
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    state = TrainState(model=model, optimizer=optimizer, scheduler=None, scaler=None, data=sampler)
    with (
        (log_dir / f"{os.getpid()}.jsonl").open("w") as log,
        TrainerHooks(
            state,
            checkpoint_dir=checkpoints,
            save_every=10,
            always_stop=True,
            agreement="collective" if sys.argv[4] == "collective" else "store",
        ) as hooks,
    ):
        batches = hooks.batches(loader)
        for step in hooks.steps(until=steps):
            ids, inputs = next(batches)
            model(inputs).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            record = {"step": step, "ids": ids.tolist(), "at": time.time()}
            generation = {"world": dist.get_world_size(), "generation": os.environ["MASTER_PORT"]}
            log.write(json.dumps(record | generation) + "\n")
            log.flush()
            time.sleep(0.0 if (log_dir / "hurry").exists() else STEP_S)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
