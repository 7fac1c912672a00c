"""Ranks of a node that write in turns: never more at once, whoever fails or dies in its own."""

import errno
import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from torch.distributed.checkpoint import FileSystemWriter

from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import latest_committed
from trainer_hooks.checkpoint.turns import Turns

pytestmark = pytest.mark.ranks


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run with three saves."""
    (tmp_path / "log").mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log")


@dataclass(frozen=True, slots=True)
class Desk:
    """Where each rank that writes has a file, as long as it does, and notes how many there are."""

    directory: Path

    def __post_init__(self) -> None:
        self.directory.mkdir()

    def sit(self, rank: int, at_least: int) -> None:
        """Note each write of this rank, which takes a while; wait there for so many ranks."""
        write, mine = FileSystemWriter.write_data, self.directory / f"writes_{rank}"

        def noted(*arguments: Any) -> Any:  # noqa: ANN401 - DCP's own
            mine.touch()
            wait_until(lambda: len(list(self.directory.glob("writes_*"))) >= at_least)
            time.sleep(0.05)
            with (self.directory / "counts").open("a") as counts:
                counts.write(f"{len(list(self.directory.glob('writes_*')))}\n")
            mine.unlink()
            return write(*arguments)

        FileSystemWriter.write_data = noted  # type: ignore[method-assign, assignment]

    @property
    def counts(self) -> list[int]:
        """How many were writing, as each of them saw it."""
        return [int(line) for line in (self.directory / "counts").read_text().splitlines()]


@pytest.mark.parametrize(("ranks", "at_once"), [(2, 1), pytest.param(4, 2, marks=pytest.mark.slow)])
def test_no_more_ranks_write_at_once_than_were_asked_for(
    tiny: Tiny, tmp_path: Path, ranks: int, at_once: int
) -> None:
    """And all saves are committed."""
    desk = Desk(tmp_path / "desk")
    run = replace(tiny, writers_at_once=at_once, before_steps=lambda rank: desk.sit(rank, 1))
    job = start_ranks(ranks, run.train, tmp_path / "out")
    assert job.wait() == [0] * ranks, job.log(0) + job.log(1)
    assert len(desk.counts) == 3 * ranks
    assert max(desk.counts) <= at_once
    for step in (10, 20, 30):
        assert f"committed step={step} " in job.log(1)
    assert "without a turn" not in job.log(0) + job.log(1)


@pytest.mark.slow
def test_all_ranks_write_at_once_when_nobody_has_asked_for_turns(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Each waits for the other to be writing, too."""
    desk = Desk(tmp_path / "desk")
    run = replace(tiny, steps=12, before_steps=lambda rank: desk.sit(rank, 2))
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert max(desk.counts) == 2


@pytest.mark.slow
def test_next_save_is_committed_when_a_writer_has_failed_in_its_turn(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Its turn ends with it."""

    def fail_once(rank: int) -> None:
        write = FileSystemWriter.write_data

        def full(*_: object) -> None:
            FileSystemWriter.write_data = write  # type: ignore[method-assign]
            raise OSError(errno.ENOSPC, "No space left on device")

        if rank == 1:
            FileSystemWriter.write_data = full  # type: ignore[method-assign, assignment]

    run = replace(tiny, writers_at_once=1, before_steps=fail_once)
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    for rank in range(2):
        assert "save failed step=10: rank " in job.log(rank)
        assert "rank 1: OSError(28, 'No space left on device')" in job.log(rank)
        assert "committed step=20 " in job.log(rank)


@pytest.mark.slow
def test_the_other_writes_when_a_writer_has_died_in_its_turn(tiny: Tiny, tmp_path: Path) -> None:
    """It gets its turn from the kernel, and leaves by the loss of its peer."""
    has_turn, has_written = tmp_path / "turn", tmp_path / "written"

    def die(rank: int) -> None:
        write, wait = FileSystemWriter.write_data, Turns._wait

        def killed(*_: object) -> None:
            has_turn.touch()
            os.kill(os.getpid(), signal.SIGKILL)

        def noted(*arguments: Any) -> Any:  # noqa: ANN401 - DCP's own
            has_written.touch()
            return write(*arguments)

        def later(turns: Turns) -> int | None:
            wait_until(has_turn.exists)
            return wait(turns)

        FileSystemWriter.write_data = killed if rank == 1 else noted  # type: ignore[method-assign, assignment]
        if rank == 0:
            Turns._wait = later  # type: ignore[method-assign, assignment]

    run = replace(tiny, writers_at_once=1, before_steps=die)
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait() == [1, -signal.SIGKILL], job.log(0)
    assert has_written.exists()
    assert "save failed step=10: rank 0: " in job.log(0)
    assert "without a turn" not in job.log(0)
    assert latest_committed(tiny.checkpoint_dir) is None
