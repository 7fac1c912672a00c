"""Runs Tiny into a bucket: URL LOG_DIR PID BACK; its second save kills the store as it uploads.

Rank 1 kills the process that is the store between two parts of its shard. Both ranks then stand in
step 25 until there is a file at BACK.
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from tests.support.tiny import Tiny
from trainer_hooks.checkpoint import parts
from trainer_hooks.checkpoint.bucket import Bucket

KILLED_STEP, HELD_STEP = 20, 25


def main() -> None:
    """Train on this rank."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    parts.PART_BYTES = 100_000
    rank, back = int(os.environ["RANK"]), Path(sys.argv[4])
    if rank == 1:
        _kill_in_an_upload(int(sys.argv[3]))

    def in_step(_: int, step: int) -> None:
        while step == HELD_STEP and not back.exists():
            time.sleep(0.05)

    run = Tiny(
        checkpoint_dir=Path(sys.argv[2]),
        checkpoint_url=sys.argv[1],
        log_dir=Path(sys.argv[2]),
        in_step=in_step,
        width=300,
    )
    run.train(rank)


def _kill_in_an_upload(store: int) -> None:
    """Kill the store before the second part of the shard is put, once the first has arrived."""
    put = Bucket.put

    def put_or_kill(bucket: Bucket, key: str, data: bytes) -> None:
        if f"step_{KILLED_STEP:09d}." in key and key.endswith(".distcp.00001"):
            first = key.removesuffix("1") + "0"
            while not _is_there(bucket, first):
                time.sleep(0.01)
            os.kill(store, signal.SIGKILL)
        put(bucket, key, data)

    Bucket.put = put_or_kill  # type: ignore[method-assign, assignment]


def _is_there(bucket: Bucket, key: str) -> bool:
    try:
        bucket.size(key)
    except FileNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
