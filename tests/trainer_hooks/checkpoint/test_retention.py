"""What retention deletes, and what it must never delete: each is somebody's bug report."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.retained import keep_last, name_of, steps
from tests.support.saving import commit_save, write_save
from trainer_hooks.checkpoint.commit import commit, start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import damaged_files, latest_committed
from trainer_hooks.checkpoint.layout import ATTEMPTS, LATEST, MARKER, Attempt, saves
from trainer_hooks.checkpoint.marks import Mark, put_mark
from trainer_hooks.checkpoint.pins import READERS, reading
from trainer_hooks.checkpoint.retention import survey
from trainer_hooks.errors import CheckpointError

SHARD = "__0_0.distcp"


def test_oldest_are_deleted_when_there_are_more_than_are_kept(
    tmp_path: Path, attempt: Attempt
) -> None:
    """Wholly, with nothing left that speaks of them."""
    for step in (9, 10, 999_999_999, 1_000_000_000):
        commit_save(tmp_path, step, attempt)
    assert keep_last(tmp_path, 2) == [1_000_000_000, 999_999_999]
    newest = latest_committed(tmp_path)
    assert newest is not None
    assert damaged_files(newest) == []
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(
        [ATTEMPTS, Mark.UNFINISHED, LATEST, *map(str, saves(tmp_path))]
    )
    assert list((tmp_path / Mark.UNFINISHED).iterdir()) == []


def test_one_is_kept_when_one_is_asked_for(tmp_path: Path, attempt: Attempt) -> None:
    """The newest: save_total_limit=1 deletes all elsewhere (transformers#25129)."""
    for step in (10, 20):
        commit_save(tmp_path, step, attempt)
    assert keep_last(tmp_path, 1) == [20]
    assert keep_last(tmp_path, 1) == [20]


def test_uncommitted_counts_for_nothing_when_a_save_is_in_flight(
    tmp_path: Path, attempt: Attempt
) -> None:
    """The previous one is never pruned for one that may yet fail (SkyRL#2145, torchtitan)."""
    commit_save(tmp_path, 10, attempt)
    commit_save(tmp_path, 20, attempt)
    pending = write_save(tmp_path, 30, attempt)
    assert keep_last(tmp_path, 2) == [30, 20, 10]
    commit(tmp_path, pending, world_size=2, save_every_steps=10, took_s=1.5)
    assert keep_last(tmp_path, 2) == [30, 20]


def test_damaged_counts_for_nothing_when_it_is_the_newest(tmp_path: Path, attempt: Attempt) -> None:
    """Nor is it deleted: somebody wants to know what has happened."""
    for step in (10, 20, 30, 40):
        directory = commit_save(tmp_path, step, attempt)
        if step > 20:
            (directory / SHARD).unlink()
    assert keep_last(tmp_path, 1) == [40, 30, 20]


def test_quarantined_counts_for_nothing_when_it_is_the_newest(
    tmp_path: Path, attempt: Attempt
) -> None:
    """Or a rollback would have the good ones deleted behind the bad."""
    *_, newest = [commit_save(tmp_path, step, attempt) for step in (10, 20, 30)]
    put_mark(tmp_path, Mark.QUARANTINED, name_of(newest), {"reason": "loss spike"})
    assert keep_last(tmp_path, 1) == [30, 20]


@pytest.mark.parametrize("name", ["7", "step_7", "checkpoint-1000", "step_000000005.a1-aaaa.old"])
def test_directory_is_left_alone_when_it_is_not_ours(
    tmp_path: Path, attempt: Attempt, name: str
) -> None:
    """Any integer-named directory is trusted elsewhere (speculators#739)."""
    whole = commit_save(tmp_path, 10, attempt)
    foreign = tmp_path / name
    shutil.copytree(whole, foreign)
    commit_save(tmp_path, 20, attempt)
    assert keep_last(tmp_path, 1) == [20]
    assert (foreign / MARKER).exists()


def test_copy_without_marker_is_left_alone_when_we_did_not_write_it(tmp_path: Path) -> None:
    """It may be half of a copy that somebody is making; elsewhere it is swept (orbax#394)."""
    directory = commit_save(tmp_path / "other", 10)
    commit_save(tmp_path / "run", 20)
    start_attempt(tmp_path / "run")
    copy = tmp_path / "run" / directory.name
    shutil.copytree(directory, copy, ignore=shutil.ignore_patterns(MARKER))
    assert keep_last(tmp_path / "run", 1) == [20, 10]
    shutil.copy(directory / MARKER, copy / MARKER)
    assert keep_last(tmp_path / "run", 1) == [20]


def test_checkpoint_stays_when_the_running_attempt_has_resumed_from_it(
    tmp_path: Path, attempt: Attempt
) -> None:
    """As long as that attempt runs: of all checkpoints it alone is known to load."""
    resumed = commit_save(tmp_path, 10, attempt)
    attempt = start_attempt(tmp_path)
    put_mark(tmp_path, Mark.RESUMED, name_of(resumed), {"by": attempt.number})
    for step in (20, 30):
        commit_save(tmp_path, step, attempt)
    assert keep_last(tmp_path, 1) == [30, 10]
    start_attempt(tmp_path)
    assert keep_last(tmp_path, 1) == [30]


@pytest.mark.parametrize("word", ["", "{", '{"schema": 2}'])
def test_checkpoint_stays_when_it_cannot_be_told_who_has_resumed_from_it(
    tmp_path: Path, attempt: Attempt, word: str
) -> None:
    """Unknown is not free."""
    resumed = commit_save(tmp_path, 10, attempt)
    put_mark(tmp_path, Mark.RESUMED, name_of(resumed), {})
    (tmp_path / Mark.RESUMED / resumed.name).write_text(word)
    commit_save(tmp_path, 20, attempt)
    assert keep_last(tmp_path, 1) == [20, 10]


def test_checkpoint_stays_when_it_is_pinned(tmp_path: Path, attempt: Attempt) -> None:
    """Beside the last ones, and with the reason."""
    pinned = commit_save(tmp_path, 10, attempt)
    for step in (20, 30, 40):
        commit_save(tmp_path, step, attempt)
    put_mark(tmp_path, Mark.PINNED, name_of(pinned), {"reason": "paper"})
    assert survey(tmp_path, Keep(last=1)).kept[name_of(pinned)] == "pinned: paper"
    assert keep_last(tmp_path, 1) == [40, 10]


def test_checkpoint_stays_when_somebody_reads_it(tmp_path: Path, attempt: Attempt) -> None:
    """Several at a time; what a dead reader has left behind holds for a day."""
    name = name_of(commit_save(tmp_path, 10, attempt))
    commit_save(tmp_path, 20, attempt)
    now = datetime.now(UTC)
    with reading(tmp_path, name, now):
        with reading(tmp_path, name, now):
            pass
        assert keep_last(tmp_path, 1) == [20, 10]
        (reader,) = (tmp_path / READERS).iterdir()
        shutil.copy(reader, tmp_path / READERS / f"{name}.dead")
    assert keep_last(tmp_path, 1) == [20, 10]
    (tmp_path / READERS / f"{name}.dead").unlink()
    with reading(tmp_path, name, now - timedelta(days=1, seconds=5)):
        assert keep_last(tmp_path, 1) == [20]


@pytest.mark.parametrize("kind", [Mark.PINNED, Mark.QUARANTINED, Mark.RESUMED, READERS, ATTEMPTS])
def test_nothing_is_deleted_when_something_cannot_be_known(
    tmp_path: Path, attempt: Attempt, kind: str
) -> None:
    """A list that cannot be read is not an empty one."""
    for step in (10, 20):
        commit_save(tmp_path, step, attempt)
    shutil.rmtree(tmp_path / kind, ignore_errors=True)
    (tmp_path / kind).write_text("not a directory")
    with pytest.raises(CheckpointError, match="cannot be read"):
        keep_last(tmp_path, 1)
    assert steps(tmp_path) == [20, 10]


def test_marker_is_not_taken_for_a_tombstone_when_it_is_damaged(
    tmp_path: Path, attempt: Attempt
) -> None:
    """Whatever is in it: only our own word deletes."""
    for step, marker in ((10, b""), (20, b"{}"), (30, os.urandom(99)), (40, b'{"deleted": 1}')):
        (commit_save(tmp_path, step, attempt) / MARKER).write_bytes(marker)
    commit_save(tmp_path, 50, attempt)
    start_attempt(tmp_path)
    assert keep_last(tmp_path, 1) == [50, 40, 30, 20, 10]
