"""Ranks that have met on a Store which allows no further connections, or is a file."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from tests.support.flags import put_flag
from tests.support.ranks import Job, start_ranks
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import EXIT_PREEMPTED, latest_committed
from trainer_hooks.agreements import AgreementName

pytestmark = pytest.mark.ranks


class Plain(dist.Store):
    """A Store in Python, as a launcher of somebody's own may bring it: it cannot be cloned."""

    def __init__(self, inner: dist.Store) -> None:
        super().__init__()
        self._inner: Any = inner

    def set(self, key: str, value: str) -> None:
        self._inner.set(key, value)

    def get(self, key: str) -> bytes:
        return bytes(self._inner.get(key))

    def add(self, key: str, value: int) -> int:
        return int(self._inner.add(key, value))

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        self._inner.wait(keys, *([] if timeout is None else [timeout]))

    def check(self, keys: list[str]) -> bool:
        return bool(self._inner.check(keys))

    def delete_key(self, key: str) -> bool:
        return bool(self._inner.delete_key(key))


def plain(path: Path) -> dist.Store:
    """Return what a launcher of somebody's own may bring."""
    return Plain(dist.FileStore(str(path), 2))


def file(path: Path) -> dist.Store:
    """Return what ``init_method="file://..."`` makes."""
    return dist.FileStore(str(path), 2)


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run whose directories exist."""
    (tmp_path / "log").mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log")


def start(
    tiny: Tiny, tmp_path: Path, make: Callable[[Path], dist.Store], master: str | None = "127.0.0.1"
) -> Job:
    """Start two ranks that meet on such a Store, whatever the environment says of another."""

    def main(rank: int) -> None:
        dist.barrier()  # who leaves while the other still connects would be missed by it
        dist.destroy_process_group()
        del os.environ["MASTER_ADDR"]
        if master is not None:
            os.environ["MASTER_ADDR"] = master
        os.environ["REPRIEVE_RUN_DIR"] = str(tmp_path / f"run_{rank}")
        Path(os.environ["REPRIEVE_RUN_DIR"]).mkdir(exist_ok=True)
        store = make(tmp_path / "store")
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
        tiny.train(rank)

    return start_ranks(2, main, tmp_path / "out")


def assert_all_is_done(job: Job, tiny: Tiny) -> None:
    """Check that all steps are done and committed, over a Store that rank 0 has hosted."""
    assert job.wait(40) == [0, 0], job.log(0) + job.log(1)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == tiny.steps
    assert "rank 0 hosts another" in job.log(1)
    assert "watches over no other machine" not in job.log(1)


@pytest.mark.parametrize("agreement", ["store", "collective"])
@pytest.mark.parametrize("make", [plain, file])
def test_job_trains_when_its_store_is_none_of_torchs_servers(
    agreement: AgreementName, make: Callable[[Path], dist.Store], tiny: Tiny, tmp_path: Path
) -> None:
    """Rank 0 hosts one that is."""
    tiny = replace(tiny, agreement=agreement)
    assert_all_is_done(start(tiny, tmp_path, make), tiny)


@pytest.mark.parametrize("master", [None, "", "nowhere.invalid", "no..name", "::1"])
def test_job_trains_when_master_addr_is_not_rank_0s_address(
    master: str | None, tiny: Tiny, tmp_path: Path
) -> None:
    """It need not be set at all where the ranks have met in another way."""
    assert_all_is_done(start(tiny, tmp_path, plain, master), tiny)


def test_ranks_stop_together_when_one_was_frozen_as_they_agreed(tiny: Tiny, tmp_path: Path) -> None:
    """The round is an abort, and the next one a stop: to wait in vain is no loss of the Store."""
    frozen = tmp_path / "frozen"

    def freeze(rank: int, step: int) -> None:
        if (rank, step) == (1, 12):
            frozen.write_text(str(os.getpid()), encoding="ascii")
            os.kill(os.getpid(), signal.SIGSTOP)
        elif (rank, step) == (0, 12):
            wait_until(lambda: frozen.exists() and frozen.read_text(encoding="ascii"))
            pid = int(frozen.read_text(encoding="ascii"))
            wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T")
            put_flag(tmp_path / "run_0", left_s=12)
            time.sleep(3)
            os.kill(pid, signal.SIGCONT)

    job = start(replace(tiny, in_step=freeze, steps=1000), tmp_path, file)
    assert job.wait(40) == [EXIT_PREEMPTED] * 2, job.log(0) + job.log(1)
    assert "decision=abort" in job.log(0)
