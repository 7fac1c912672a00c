"""Finding the newest checkpoint: every kind of torn directory is passed over, in one line."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.flipping import flip_bit
from tests.support.saving import commit_save, write_save
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import (
    Checkpoint,
    committed,
    damaged_files,
    latest_committed,
    marked,
    open_checkpoint,
)
from trainer_hooks.checkpoint.layout import LATEST, MARKER, Attempt, SaveName
from trainer_hooks.checkpoint.manifest import canonical, digest_of
from trainer_hooks.checkpoint.marks import Mark, put_mark, remove_mark
from trainer_hooks.errors import CheckpointError, UncommittedError

SHARD = "__0_0.distcp"


def newest(root: Path) -> Checkpoint:
    """Return the newest checkpoint, which must be there."""
    checkpoint = latest_committed(root)
    assert checkpoint is not None
    return checkpoint


def rewrite(directory: Path, **changes: Any) -> None:  # noqa: ANN401 - what a marker may hold
    """Write another marker, with the right digest for what it says."""
    body = json.loads((directory / MARKER).read_text()) | changes
    del body["digest"]
    body["digest"] = digest_of(canonical(body))
    (directory / MARKER).write_text(json.dumps(body))


def rename_entry(directory: Path, name: str) -> None:
    """Let the marker name another file in the place of a shard."""
    files = json.loads((directory / MARKER).read_text())["files"]
    rewrite(directory, files=[*files[1:], files[0] | {"name": name}])


def replace_by(path: Path, make: Callable[[Path], object]) -> None:
    """Put something else in the place of a file."""
    path.unlink()
    make(path)


def copy_marker(directory: Path) -> None:
    """Take the marker of the checkpoint before."""
    other = min(directory.parent.glob("step_*"))
    shutil.copy(other / MARKER, directory / MARKER)


def move_and_link(directory: Path) -> None:
    """Move a checkpoint, and leave a link to it."""
    moved = directory.rename(directory.with_name("moved"))
    directory.symlink_to(moved)


def move_and_touch(directory: Path) -> None:
    """Move a checkpoint, and leave a file of its name."""
    directory.rename(directory.with_name("moved"))
    directory.touch()


TORN: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing shard": (lambda d: (d / SHARD).unlink(), f"{SHARD} is missing"),
    "short shard": (lambda d: os.truncate(d / SHARD, 14), "has 14 bytes, the marker says 15"),
    "long shard": (lambda d: os.truncate(d / SHARD, 16), "has 16 bytes, the marker says 15"),
    "shard is a link": (
        lambda d: replace_by(d / SHARD, lambda p: p.symlink_to(d / ".metadata")),
        "not a regular file",
    ),
    "shard is a directory": (lambda d: replace_by(d / SHARD, Path.mkdir), "not a regular file"),
    "missing state": (lambda d: (d / "state/rank_00001.json").unlink(), "is missing"),
    "missing index": (lambda d: (d / ".metadata").unlink(), r"\.metadata is missing"),
    "missing marker": (lambda d: (d / MARKER).unlink(), "no commit marker"),
    "temporary marker": (
        lambda d: (d / MARKER).rename(d / f".{MARKER}.0a1b2c3d.tmp"),
        "no commit marker",
    ),
    "empty marker": (lambda d: (d / MARKER).write_bytes(b""), "is not JSON"),
    "half a marker": (lambda d: os.truncate(d / MARKER, 200), "is not JSON"),
    "flipped marker": (lambda d: flip_bit(d / MARKER), "damaged, its digest differs|is not JSON"),
    "edited marker": (
        lambda d: (d / MARKER).write_text((d / MARKER).read_text().replace("15", "16")),
        "its digest differs",
    ),
    "another's marker": (copy_marker, "the marker is of step 10, attempt"),
    "marker of another attempt": (lambda d: rewrite(d, attempt="a1-ffff"), "attempt a1-ffff"),
    "marker of another schema": (lambda d: rewrite(d, schema=2), "not one of schema 1"),
    "marker without files": (lambda d: rewrite(d, files=None), "not one of schema 1"),
    "marker of no time": (lambda d: rewrite(d, created="today"), "created is no instant"),
    "marker of no zone": (
        lambda d: rewrite(d, created="2026-11-30T08:00:00"),
        "created is no instant",
    ),
    "marker is a tombstone": (
        lambda d: (d / MARKER).write_text('{"schema": 1, "deleted": true}'),
        "is being deleted",
    ),
    "odd entry": (lambda d: rewrite(d, files=[1]), "no file entry"),
    "marker is a link": (
        lambda d: replace_by(d / MARKER, lambda p: p.symlink_to(p.with_name(".metadata"))),
        "cannot be opened",
    ),
    "marker is a fifo": (lambda d: replace_by(d / MARKER, os.mkfifo), "not a regular file"),
    "marker is a directory": (lambda d: replace_by(d / MARKER, Path.mkdir), "not a regular file"),
    "marker is huge": (lambda d: os.truncate(d / MARKER, 65 * 2**20), "larger than"),
    "marker is deep": (lambda d: (d / MARKER).write_text('{"a":' * 50_000), "is not JSON"),
    "names /etc/passwd": (lambda d: rename_entry(d, "../../etc/passwd"), "no file entry"),
    "names an absolute path": (lambda d: rename_entry(d, "/etc/passwd"), "no file entry"),
    "names its parent": (lambda d: rename_entry(d, ".."), "no file entry"),
    "directory is a link": (move_and_link, "not a directory of ours"),
    "directory is a file": (move_and_touch, "not a directory of ours"),
}


@pytest.mark.parametrize("torn", TORN)
def test_directory_is_passed_over_when_it_is_torn(
    tmp_path: Path, attempt: Attempt, torn: str, caplog: pytest.LogCaptureFixture
) -> None:
    """For the one before it, with exactly one line that says why."""
    before = commit_save(tmp_path, 10, attempt)
    directory = commit_save(tmp_path, 20, attempt)
    assert newest(tmp_path).path == directory
    tear, why = TORN[torn]
    tear(directory)
    assert newest(tmp_path).path == before
    (line,) = caplog.messages
    assert line.startswith(f"passed over {directory}")
    assert "\n" not in line
    with pytest.raises(UncommittedError, match=why) as raised:
        open_checkpoint(directory)
    assert str(raised.value) in line


@pytest.mark.parametrize(
    ("took", "took_s"),
    [(None, None), ("1", None), (True, None), (-1, None), (1e7, None), (10**400, None), (2, 2.0)],
)
def test_checkpoint_is_right_when_it_does_not_say_how_long_it_took(
    tmp_path: Path, attempt: Attempt, took: object, took_s: float | None
) -> None:
    """Nothing is lost but an estimate."""
    rewrite(commit_save(tmp_path, 20, attempt), took_s=took)
    newest = latest_committed(tmp_path)
    assert newest is not None
    assert newest.marker.took_s == took_s


def test_checkpoint_is_right_when_a_shard_has_no_bytes(tmp_path: Path, attempt: Attempt) -> None:
    """A rank that had nothing to write: the marker names it so."""
    directory = commit_save(tmp_path, 10, attempt)
    assert (directory / "__1_0.distcp").stat().st_size == 0
    assert newest(tmp_path).path == directory
    assert damaged_files(newest(tmp_path)) == []


def test_checkpoint_is_right_when_its_files_have_other_names_too(
    tmp_path: Path, attempt: Attempt
) -> None:
    """Kept by hard links, as backup programs do."""
    directory = commit_save(tmp_path, 10, attempt)
    shutil.copytree(directory, tmp_path / "kept", copy_function=os.link)
    assert newest(tmp_path).path == directory


def test_newest_is_the_one_before_when_a_higher_step_was_never_committed(
    tmp_path: Path, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    """However many of them there are."""
    before = commit_save(tmp_path, 10, attempt)
    for step in (20, 30):
        write_save(tmp_path, step, attempt)
    assert newest(tmp_path).path == before
    assert len(caplog.messages) == 2


def test_newest_is_found_by_number_when_names_sort_otherwise(
    tmp_path: Path, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    """Beyond step 10^9, by attempt within a step, and beside directories of others."""
    commit_save(tmp_path, 999_999_999, attempt)
    commit_save(tmp_path, 1_000_000_000, attempt)
    last = commit_save(tmp_path, 1_000_000_000, Attempt(10, "aaaa"))
    for foreign in ("zz_backup", "step_9999999999", "step_9999999999.a1-zzzz.old"):
        shutil.copytree(last, tmp_path / foreign)
    assert newest(tmp_path).path == last
    assert [c.step for c in committed(tmp_path)] == [1_000_000_000, 1_000_000_000, 999_999_999]
    assert caplog.messages == []


@pytest.mark.parametrize("hint", [None, "", "step_000000010.a1-ffff\n", "../..\n", "\0\xff"])
def test_newest_is_found_when_the_hint_is_missing_or_stale(
    tmp_path: Path, attempt: Attempt, hint: str | None
) -> None:
    """A crash may lie between the marker and LATEST."""
    commit_save(tmp_path, 10, attempt)
    directory = commit_save(tmp_path, 20, attempt)
    (tmp_path / LATEST).unlink()
    if hint is not None:
        (tmp_path / LATEST).write_text(hint)
    assert newest(tmp_path).path == directory


def test_checkpoint_is_passed_over_when_it_is_in_quarantine(
    tmp_path: Path, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    """With the reason; a quarantine that cannot be read is no empty one."""
    before = commit_save(tmp_path, 10, attempt)
    newer = commit_save(tmp_path, 20, attempt)
    name = SaveName(20, attempt)
    put_mark(tmp_path, Mark.QUARANTINED, name, {"reason": "loss spike"})
    assert newest(tmp_path).path == before
    assert caplog.messages == [f"passed over {newer}: in quarantine: loss spike"]
    assert open_checkpoint(newer).step == 20
    remove_mark(tmp_path, Mark.QUARANTINED, name)
    assert newest(tmp_path).path == newer
    (tmp_path / Mark.QUARANTINED).rmdir()
    (tmp_path / Mark.QUARANTINED).touch()
    with pytest.raises(CheckpointError, match="cannot be read"):
        latest_committed(tmp_path)


def test_error_is_raised_when_the_directory_cannot_be_read(
    tmp_path: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds checkpoints for all we know: that is no fresh start."""
    commit_save(tmp_path, 10, attempt)

    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "listdir", failing)
    with pytest.raises(CheckpointError, match="cannot be read"):
        latest_committed(tmp_path)


def test_newest_is_none_when_nothing_was_committed(tmp_path: Path) -> None:
    """An empty directory, none at all, and one with torn saves only."""
    assert latest_committed(tmp_path) is None
    assert latest_committed(tmp_path / "none") is None
    write_save(tmp_path, 10, start_attempt(tmp_path))
    assert latest_committed(tmp_path) is None


def test_marked_are_those_with_a_marker_when_they_are_whole_or_not(
    tmp_path: Path, attempt: Attempt
) -> None:
    """To tell a fresh start from one that would hide damage; a tombstone is no marker."""
    (commit_save(tmp_path, 8, attempt) / MARKER).write_text('{"schema": 1, "deleted": true}')
    write_save(tmp_path, 5, attempt)
    whole, torn = commit_save(tmp_path, 10, attempt), commit_save(tmp_path, 20, attempt)
    (torn / SHARD).unlink()
    assert marked(tmp_path) == [torn.name, whole.name]


@pytest.mark.parametrize("name", [SHARD, ".metadata", "state/rank_00001.json"])
def test_damage_is_found_when_one_bit_has_flipped(
    tmp_path: Path, attempt: Attempt, name: str
) -> None:
    """In any file, whoever looks at which share of them."""
    directory = commit_save(tmp_path, 10, attempt)
    flip_bit(directory / name)
    checkpoint = newest(tmp_path)
    assert damaged_files(checkpoint) == [name]
    for shares in (2, 3, 8):
        found = [damaged_files(checkpoint, share=i, shares=shares) for i in range(shares)]
        assert sorted(found) == [[]] * (shares - 1) + [[name]]


def test_rank_reads_its_own_shard_when_as_many_resume_as_have_saved(
    tmp_path: Path, attempt: Attempt
) -> None:
    """It is likely to load it too, and finds it in its page cache."""
    directory = commit_save(tmp_path, 10, attempt)
    flip_bit(directory / SHARD)
    assert damaged_files(newest(tmp_path), share=0, shares=2) == [SHARD]
    whole = newest(tmp_path)
    (directory / "__1_0.distcp").unlink()
    assert damaged_files(whole, share=1, shares=2) == ["__1_0.distcp"]


def test_damage_is_found_when_a_file_has_gone_since(tmp_path: Path, attempt: Attempt) -> None:
    """Between the look at its length and the reading."""
    directory = commit_save(tmp_path, 10, attempt)
    checkpoint = newest(tmp_path)
    (directory / SHARD).unlink()
    assert damaged_files(checkpoint) == [SHARD]
