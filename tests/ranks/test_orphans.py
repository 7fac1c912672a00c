"""Ranks whose launcher is killed: they leave by themselves, even out of a hang."""

from pathlib import Path

import pytest

from tests.support.launching import children, is_alive, launch, wait_until

pytestmark = pytest.mark.ranks

HANGS = """
import os, sys, time
from pathlib import Path
import torch.distributed as dist
from tests.support.tiny import Tiny

checkpoints, log_dir = map(Path, sys.argv[1:])

def hang(rank, step):
    if step == 12:
        (log_dir / f"hangs_{rank}").touch()
        time.sleep(3600)

dist.init_process_group("gloo")
Tiny(checkpoint_dir=checkpoints, log_dir=log_dir, in_step=hang).train(int(os.environ["RANK"]))
"""


def test_orphans_leave_when_they_hang_and_nobody_is_left_to_kill_them(tmp_path: Path) -> None:
    """No notice, no deadline: the time that a launcher would have given bounds it."""
    log_dir = tmp_path / "log"
    log_dir.mkdir()
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    arguments = [str(tmp_path / "checkpoints"), str(log_dir)]
    with launch(tmp_path / "out", script, *arguments, options=["--window=8"]) as running:
        wait_until(lambda: len(list(log_dir.glob("hangs_*"))) == 2, "both ranks to hang")
        ranks = children(running.process.pid)
        assert len(ranks) == 2
        running.process.kill()
        running.process.wait()
        wait_until(lambda: not any(is_alive(rank) for rank in ranks), "the orphans to leave")
