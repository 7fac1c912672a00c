"""Ranks of which some see the flag file and some ask a watcher over HTTP stop together."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.flags import put_flag
from tests.support.history import steps_done
from tests.support.ports import quiet_port
from tests.support.ranks import start_ranks
from tests.support.telling_watcher import telling_watcher
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import EXIT_PREEMPTED, latest_committed
from trainer_hooks.clock import boot_id
from trainer_hooks.notice_url import VARIABLE

pytestmark = pytest.mark.ranks


def test_ranks_stop_at_one_step_when_one_is_told_by_http_and_one_by_file(tmp_path: Path) -> None:
    """Two notices in one moment, and a watcher that comes up after the rank that asks it."""
    port, run_dir = quiet_port(), tmp_path / "run_1"
    (tmp_path / "log").mkdir()
    run_dir.mkdir()
    save_every = 10
    tiny = Tiny(
        checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", save_every=save_every
    )

    def main(rank: int) -> None:
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / f"run_{rank}")
        if rank == 0:
            os.environ[VARIABLE] = f"http://127.0.0.1:{port}"
        replace(tiny, steps=100_000).train(rank)

    job = start_ranks(2, main, tmp_path / "out")
    with telling_watcher(boot_id() or "", port) as watcher:
        wait_until(lambda: watcher.waiting == 1)
        log = tiny.log_dir / "rank_0.jsonl"
        wait_until(lambda: log.exists() and 12 in steps_done(tiny.log_dir, 0))
        watcher.admit("by-http", left_s=100)
        wait_until(lambda: "notice_id=by-http source=url:aws" in job.log(0))
        put_flag(run_dir, notice_id="by-file", left_s=101)
        assert job.wait() == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert steps_done(tiny.log_dir, 0)[-1] == steps_done(tiny.log_dir, 1)[-1]
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step > steps_done(tiny.log_dir, 0)[-1] - save_every
