"""Runs Tiny as a script: CHECKPOINT_DIR LOG_DIR [raise-at-step [remove-results]]."""

import os
import shutil
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from tests.support.tiny import Tiny


def main() -> None:
    """Train on this rank; rank 1 fails at a step if one is named."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    fail_at = int(sys.argv[3]) if len(sys.argv) > 3 else None

    def in_step(rank: int, step: int) -> None:
        if rank == 1 and step == fail_at:
            raise ValueError("a bug of the script")

    if sys.argv[4:] == ["remove-results"]:
        shutil.rmtree(os.environ["REPRIEVE_RESULT_DIR"], ignore_errors=True)
    run = Tiny(
        checkpoint_dir=Path(sys.argv[1]),
        checkpoint_url=sys.argv[1],
        log_dir=Path(sys.argv[2]),
        in_step=in_step,
    )
    run.train(int(os.environ["RANK"]))


if __name__ == "__main__":
    main()
