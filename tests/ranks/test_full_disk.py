"""A checkpoint directory that has no room, or no permission: named, and nothing is lost."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.history import steps_done
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import latest_committed

pytestmark = [
    pytest.mark.ranks,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root"),
]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_training_goes_on_when_the_disk_is_full(small_disk: Path, tmp_path: Path) -> None:
    """Saves fail with the reason on all ranks, the older checkpoint stands, no step is lost."""
    (tmp_path / "log").mkdir()
    tiny = Tiny(checkpoint_dir=small_disk / "run", log_dir=tmp_path / "log", width=400, steps=25)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    codes = job.wait()
    for rank in range(2):
        assert steps_done(tiny.log_dir, rank) == list(range(25))
        assert "No space left on device" in job.log(rank)
    # The run is over and its last checkpoint is not there: that is an error, not success.
    assert codes == [1, 1]
    assert "the final checkpoint is not committed" in job.log(0)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 10


def test_the_next_save_is_committed_when_there_is_room_again(
    small_disk: Path, tmp_path: Path
) -> None:
    """A failed save takes its leftovers away and does not spoil the one after it."""
    (tmp_path / "log").mkdir()
    run, ballast = small_disk / "run", small_disk / "ballast"

    def fill_and_free(rank: int, step: int) -> None:
        if rank == 0 and step == 2:
            ballast.write_bytes(bytes(2_600_000))
        if rank == 0 and step == 18:
            wait_until(lambda: not list(run.glob("step_000000010.*")))  # it has failed by then
            ballast.unlink()

    tiny = Tiny(checkpoint_dir=run, log_dir=tmp_path / "log", width=200, in_step=fill_and_free)
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert "save failed step=10" in job.log(1)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 30
    assert list(tiny.checkpoint_dir.glob("step_000000010.*")) == []


def test_every_rank_says_why_when_the_directory_cannot_be_made(tmp_path: Path) -> None:
    """A file stands where the directory should be: a clear error on all ranks, and no retry."""
    (tmp_path / "log").mkdir()
    (tmp_path / "file").write_text("in the way")
    tiny = Tiny(checkpoint_dir=tmp_path / "file" / "run", log_dir=tmp_path / "log")
    job = start_ranks(2, tiny.train, tmp_path / "out")
    assert job.wait() == [78, 78]
    for rank in range(2):
        assert "DirectoryError: checkpoint_dir" in job.log(rank)
        assert "cannot be written (Not a directory): make it writable" in job.log(rank)
