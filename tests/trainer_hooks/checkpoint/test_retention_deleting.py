"""How retention deletes: only what is ours, only while it may, and again where it has failed."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.retained import keep_last, name_of, steps
from tests.support.saving import commit_save, write_save
from trainer_hooks.checkpoint import retention as retention_module
from trainer_hooks.checkpoint.commit import commit, start_attempt
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.layout import MARKER, Attempt, SaveName
from trainer_hooks.checkpoint.marks import Mark, put_mark
from trainer_hooks.checkpoint.retention import Retention, survey
from trainer_hooks.errors import CheckpointError

SHARD = "__0_0.distcp"


def test_leftover_is_swept_when_its_attempt_is_over(tmp_path: Path, attempt: Attempt) -> None:
    """Not before: until a newer attempt has started its writer may still commit it."""
    commit_save(tmp_path, 10, attempt)
    leftover = write_save(tmp_path, 20, attempt)
    assert keep_last(tmp_path, 1) == [20, 10]
    start_attempt(tmp_path)
    assert keep_last(tmp_path, 1) == [10]
    with pytest.raises(CheckpointError):
        commit(tmp_path, leftover, world_size=2, save_every_steps=10, took_s=1.5)
    assert survey(tmp_path, Keep()).leftovers == ()


def test_leftover_is_swept_when_it_never_came_to_its_directory(
    tmp_path: Path, attempt: Attempt
) -> None:
    """The word that was left of it goes."""
    put_mark(tmp_path, Mark.UNFINISHED, SaveName(10, attempt), {})
    start_attempt(tmp_path)
    keep_last(tmp_path, 1)
    assert survey(tmp_path, Keep()).leftovers == ()


def test_commit_wins_when_it_comes_before_the_sweep(tmp_path: Path, attempt: Attempt) -> None:
    """A fenced attempt that was past its last check: what it has committed is a checkpoint."""
    directory = commit_save(tmp_path, 10, attempt)
    put_mark(tmp_path, Mark.UNFINISHED, name_of(directory), {})  # it died before taking it off
    start_attempt(tmp_path)
    assert keep_last(tmp_path, 1) == [10]
    assert latest_committed(tmp_path) is not None


def test_foreign_file_stays_when_its_checkpoint_is_deleted(
    tmp_path: Path, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named once; what is left is no checkpoint."""
    directory = commit_save(tmp_path, 10, attempt)
    (directory / "notes.txt").write_text("mine")
    (directory / "state" / "mine.json").write_text("mine")
    commit_save(tmp_path, 20, attempt)
    for _ in range(2):
        assert keep_last(tmp_path, 1) == [20, 10]
    left = {path.name for path in directory.rglob("*") if path.is_file()}
    assert left == {"notes.txt", "mine.json", MARKER}
    (line,) = caplog.messages
    assert line.endswith("is deleted but for what is no part of it: ['notes.txt', 'state']")
    (directory / "notes.txt").unlink()
    (directory / "state" / "mine.json").unlink()
    assert keep_last(tmp_path, 1) == [20]


@pytest.mark.parametrize("part", ["state", "manifest", "."])
def test_nothing_elsewhere_is_deleted_when_a_link_leads_there(
    tmp_path: Path, attempt: Attempt, part: str
) -> None:
    """Neither in the directory of a checkpoint, nor in its place."""
    root = tmp_path
    name = write_save(root, 10, attempt)
    elsewhere = root / "elsewhere"
    (root / str(name) / part).resolve().rename(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    (root / str(name) / part).symlink_to(elsewhere)
    start_attempt(root)
    keep_last(root, 1)
    assert sorted(elsewhere.rglob("*")) == before


def test_later_deletions_are_made_when_one_fails(
    tmp_path: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that one with the next."""
    for step in (10, 20, 30):
        commit_save(tmp_path, step, attempt)
    rmdir = Path.rmdir

    def failing(path: Path) -> None:
        if path.name.startswith("step_000000010"):
            raise PermissionError(1, "Operation not permitted")
        rmdir(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rmdir", failing)
        assert keep_last(tmp_path, 1) == [30, 10]
    start_attempt(tmp_path)
    assert keep_last(tmp_path, 1) == [30]


def test_nothing_more_is_deleted_when_a_newer_attempt_has_started(
    tmp_path: Path, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be loading just what the older one would delete."""
    retention = Retention(tmp_path, Keep(last=1), attempt)
    for step in (10, 20):
        commit_save(tmp_path, step, attempt)
    newer = start_attempt(tmp_path)
    retention.after_commit()
    assert steps(tmp_path) == [20, 10]
    assert "nothing more is deleted: attempt" in caplog.text
    Retention(tmp_path, Keep(last=1), newer).after_commit()
    assert steps(tmp_path) == [20]


def test_nothing_is_deleted_when_time_is_short(tmp_path: Path, attempt: Attempt) -> None:
    """The disk is wanted for the last save."""
    retention = Retention(tmp_path, Keep(last=1), attempt)
    for step in (10, 20):
        commit_save(tmp_path, step, attempt)
    retention.is_suspended = True
    retention.after_commit()
    assert steps(tmp_path) == [20, 10]


def test_last_commit_counts_when_it_comes_while_the_one_before_is_deleting(
    tmp_path: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other commit follows it, and nobody would delete what it makes superfluous."""
    retention = Retention(tmp_path, Keep(last=1), attempt)
    commit_save(tmp_path, 10, attempt)
    commit_save(tmp_path, 20, attempt)
    retain = retention_module.retain
    commits = [30]

    def retain_and_be_overtaken(*arguments: Any) -> object:  # noqa: ANN401 - passed on
        deleted = retain(*arguments)
        while commits:
            commit_save(tmp_path, commits.pop(), attempt)
            retention.after_commit()
        return deleted

    monkeypatch.setattr(retention_module, "retain", retain_and_be_overtaken)
    retention.after_commit()
    assert steps(tmp_path) == [30]
