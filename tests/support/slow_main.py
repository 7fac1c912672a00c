"""Runs Tiny as a script, slow on rank 1, which asks for another node: CHECKPOINT_DIR LOG_DIR."""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from tests.support.tiny import Tiny
from trainer_hooks import Health

SLOW_FROM = 30
SLOW_S = 0.03


def sleep_on_rank_1(rank: int, step: int) -> None:
    """Hold up the others."""
    if rank == 1 and step >= SLOW_FROM:
        time.sleep(SLOW_S)


def main() -> None:
    """Train on this rank until somebody stops it."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Tiny(
        checkpoint_dir=Path(sys.argv[1]),
        log_dir=Path(sys.argv[2]),
        steps=100_000,
        save_every=100_000,
        in_step=sleep_on_rank_1,
        health=Health(request_node=True),
    ).train(int(os.environ["RANK"]))


if __name__ == "__main__":
    main()
