"""A save that fails on one rank fails on all, without a hang, and the next one works."""

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.history import history, steps_done
from tests.support.ranks import start_ranks
from tests.support.tiny import Tiny
from tests.support.waiting import wait_until
from trainer_hooks import TrainerHooks, latest_committed
from trainer_hooks.checkpoint import rank_state, saver
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.manifest import FileEntry, write_manifest
from trainer_hooks.checkpoint.saver import Checkpointer

pytestmark = pytest.mark.ranks


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A run with three saves, large enough to be in flight for a while."""
    (tmp_path / "log").mkdir()
    return Tiny(checkpoint_dir=tmp_path / "checkpoints", log_dir=tmp_path / "log", width=300)


def test_no_rank_commits_when_one_cannot_write_its_state(tiny: Tiny, tmp_path: Path) -> None:
    """One rank's state file fails while DCP still writes; the save after it is committed."""

    def sabotage(rank: int) -> None:
        def fail_once(*_: object) -> None:
            saver.write_rank_state = rank_state.write_rank_state  # type: ignore[attr-defined]
            raise OSError(5, "Input/output error")

        if rank == 1:
            saver.write_rank_state = fail_once  # type: ignore[attr-defined, assignment]

    job = start_ranks(2, replace(tiny, before_steps=sabotage).train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    for rank in range(2):
        assert "save failed step=10: rank 1: [Errno 5] Input/output error" in job.log(rank)
        assert "committed step=20" in job.log(rank)
    assert list(tiny.checkpoint_dir.glob("step_000000010.*")) == []


def test_nothing_scrolls_past_when_five_saves_in_a_row_fail(tiny: Tiny, tmp_path: Path) -> None:
    """All ranks say each, and since which step; they train on, and the sixth is committed."""

    def sabotage(rank: int) -> None:
        def fail(directory: Path, *arguments: object) -> FileEntry:
            if 10 < int(directory.name[5:14]) <= 35:
                raise OSError(28, "No space left on device")
            return rank_state.write_rank_state(directory, *arguments)  # type: ignore[arg-type]  # passed on

        if rank == 1:
            saver.write_rank_state = fail  # type: ignore[attr-defined, assignment]

    def look(_: int, step: int, hooks: TrainerHooks) -> None:
        if step == 39:  # the save of step 35 has been begun, and has failed or is about to
            wait_until(lambda: hooks.outcome.failed_saves == 5)
            assert hooks.outcome.committed_step == 10
        if step == 44:
            wait_until(lambda: hooks.outcome.failed_saves == 0)

    run = replace(tiny, before_steps=sabotage, watch=look, steps=45, save_every=5)
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    for rank in range(2):
        assert steps_done(tiny.log_dir, rank) == [*range(45)]
        for step in (15, 20, 25, 30, 35):
            assert f"save failed step={step}: rank 1: [Errno 28]" in job.log(rank)
        assert (
            "NO SAVE COMMITTED since step=10: 5 in a row have failed, steps 15 to 35: rank 1: "
            "[Errno 28] No space left on device"
        ) in job.log(rank)
        assert "saves work again, after 5 that failed" in job.log(rank)
    assert [name.step for name in saves(tiny.checkpoint_dir)] == [45, 40, 10, 5]


@pytest.mark.slow
def test_saves_come_one_after_the_other_when_each_outlasts_the_interval(
    tiny: Tiny, tmp_path: Path
) -> None:
    """All are committed, the next waits on every rank, and each wait is said."""
    in_flight = tmp_path / "in_flight"

    def slow(rank: int) -> None:
        begin, wait = Checkpointer._begin, Checkpointer.wait
        mine, is_due = in_flight / str(rank), threading.Event()

        def noted(*arguments: Any) -> None:  # noqa: ANN401 - the original's
            mine.mkdir(parents=True)  # fails where the one before is still there
            is_due.clear()
            begin(*arguments)

        def due(checkpointer: Checkpointer, deadline_s: float | None) -> bool:
            if deadline_s is None:  # not as the run ends, when there is no next one
                is_due.set()
            return wait(checkpointer, deadline_s)

        def lagging(directory: Path, *arguments: Any) -> None:  # noqa: ANN401 - as above
            if "step_000000040" not in directory.name:
                assert is_due.wait(60)
            write_manifest(directory, *arguments)
            mine.rmdir()

        Checkpointer._begin = noted  # type: ignore[method-assign, assignment]
        Checkpointer.wait = due  # type: ignore[method-assign, assignment]
        saver.write_manifest = lagging  # type: ignore[attr-defined, assignment]

    run = replace(tiny, before_steps=slow, step_s=0.001, steps=40)
    job = start_ranks(2, run.train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    assert [name.step for name in saves(tiny.checkpoint_dir)] == [40, 30, 20, 10]
    for rank in range(2):
        assert steps_done(tiny.log_dir, rank) == [*range(40)]
        for step in (10, 20, 30):
            said = f"the save of step {step} was in flight as the next was due: training has waited"
            assert said in job.log(rank)
        assert job.log(rank).count("s for it, and it is committed") == 3


def test_no_save_starts_when_the_directory_is_taken_away(tiny: Tiny, tmp_path: Path) -> None:
    """The coordinator cannot reserve: all ranks skip the save together and train on."""

    def take_away(rank: int, step: int) -> None:
        if (rank, step) == (0, 15):
            tiny.checkpoint_dir.rename(tmp_path / "away")  # at once, even if a save is in flight
        if (rank, step) == (0, 25):
            (tiny.checkpoint_dir / ".attempts").mkdir(parents=True)

    job = start_ranks(2, replace(tiny, in_step=take_away).train, tmp_path / "out")
    assert job.wait() == [0, 0], job.log(0) + job.log(1)
    for rank in range(2):
        assert "save not started step=20" in job.log(rank)
        assert "committed step=30" in job.log(rank)


def test_the_save_in_flight_is_committed_when_the_script_has_a_bug(
    tiny: Tiny, tmp_path: Path
) -> None:
    """An exception on all ranks commits what was in flight, and comes out as itself."""

    def bug(_: int, step: int) -> None:
        if step == 20:
            raise ZeroDivisionError("a bug of the script")

    job = start_ranks(2, replace(tiny, in_step=bug).train, tmp_path / "out")
    assert job.wait() == [1, 1]
    assert "ZeroDivisionError: a bug of the script" in job.log(0)
    checkpoint = latest_committed(tiny.checkpoint_dir)
    assert checkpoint is not None
    assert checkpoint.step == 20


@pytest.mark.parametrize("others", [1, 3])
def test_the_run_goes_on_when_another_number_of_ranks_resumes_it(
    tiny: Tiny, tmp_path: Path, others: int
) -> None:
    """DCP reshards, RNG is seeded anew, and the data go on at the same global sample."""

    def leave(_: int, step: int) -> None:
        if step == 20:
            os._exit(9)

    start_ranks(2, replace(tiny, in_step=leave, step_s=0.03).train, tmp_path / "out").wait()
    assert latest_committed(tiny.checkpoint_dir) is not None
    before = {rank: history(tiny.log_dir, rank) for rank in range(2)}
    second = replace(tiny, log_dir=tmp_path / "second")
    second.log_dir.mkdir()
    job = start_ranks(others, second.train, tmp_path / "out")
    assert job.wait() == [0] * others, job.log(0)
    assert "RESUMED step=10" in job.log(0)
    assert "rng=re-seeded, was 2" in job.log(0)
    first_ids = [history(second.log_dir, rank)[10][0] for rank in range(others)]
    same_stream = [before[rank][step][0] for step in (10, 11) for rank in range(2)]
    consumed = {i for ids in first_ids for i in ids}
    assert consumed <= {i for ids in same_stream for i in ids}
