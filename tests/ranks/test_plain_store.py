"""Ranks that have met on a Store which allows no further connections."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from trainer_hooks import latest_committed
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


@pytest.mark.parametrize("agreement", ["store", "collective"])
def test_job_trains_and_resumes_when_its_store_cannot_be_cloned(
    agreement: AgreementName, tmp_path: Path
) -> None:
    """Rank 0 hosts one that can."""
    (tmp_path / "log").mkdir()
    tiny = Tiny(
        checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", agreement=agreement
    )
    inner = tmp_path / "store"

    def main(rank: int) -> None:
        dist.destroy_process_group()
        store = Plain(dist.FileStore(str(inner), 2))
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
        tiny.train(rank)

    job = start_ranks(2, main, tmp_path / "out")
    assert job.wait(30) == [0, 0], job.log(0) + job.log(1)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == tiny.steps
    assert "rank 0 hosts another" in job.log(1)
