"""The second phase: what is committed, what is refused, and what an older attempt may not do."""

import errno
import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.support.saving import FILES, commit_save, write_part, write_save
from trainer_hooks.checkpoint.commit import (
    commit,
    missing_manifests,
    reserve,
    start_attempt,
)
from trainer_hooks.checkpoint.latest import latest_committed, open_checkpoint
from trainer_hooks.checkpoint.layout import (
    ATTEMPTS,
    LATEST,
    MARKER,
    Attempt,
    SaveName,
    manifest_file,
)
from trainer_hooks.checkpoint.manifest import canonical, digest_of
from trainer_hooks.checkpoint.marks import Mark, names_with
from trainer_hooks.errors import CheckpointError, ConfigError, DirectoryError, FencedError


def do_commit(root: Path, name: SaveName) -> None:
    """Commit a save of two ranks."""
    commit(root, name, world_size=2, save_every_steps=10, took_s=1.5)


def test_save_is_a_checkpoint_when_it_is_committed(tmp_path: Path) -> None:
    """With all that its marker says, and LATEST pointing to it."""
    root = tmp_path / "run"
    attempt = start_attempt(root)
    name = write_save(root, 300, attempt)
    assert latest_committed(root) is None
    do_commit(root, name)
    checkpoint = latest_committed(root)
    assert checkpoint is not None
    assert (checkpoint.step, checkpoint.path) == (300, root / str(name))
    assert checkpoint.marker.world_size == 2
    assert checkpoint.marker.save_every_steps == 10
    assert checkpoint.marker.took_s == 1.5
    written = {name: len(data) for files in FILES for name, data in files.items()}
    manifests = [manifest_file(rank) for rank in range(2)]
    written |= {each: (root / str(name) / each).stat().st_size for each in manifests}
    assert {entry.name: entry.size for entry in checkpoint.marker.files} == written
    assert (root / LATEST).read_text() == f"{name}\n"


def test_marker_holds_a_digest_of_itself_when_it_is_written(tmp_path: Path) -> None:
    """Of its one spelling, so that any reader can check it."""
    marker = json.loads((commit_save(tmp_path, 10) / MARKER).read_text())
    digest = marker.pop("digest")
    assert digest == digest_of(canonical(marker))
    assert set(marker) == {
        "schema", "step", "attempt", "world_size", "save_every_steps", "took_s", "created", "files",
    }  # fmt: skip


def test_attempts_are_counted_when_they_start_one_after_another(tmp_path: Path) -> None:
    """Also from the names of saves, if somebody has removed the counter."""
    root = tmp_path / "run"
    assert [start_attempt(root).number for _ in range(3)] == [1, 2, 3]
    assert os.listdir(root / ATTEMPTS) == ["3"]  # noqa: PTH208 - names are what is compared
    write_save(root, 10, start_attempt(root))
    (root / ATTEMPTS / "4").unlink()
    assert start_attempt(root).number == 5
    for foreign in ("x", "-7", "1e9", "٩"):
        (root / ATTEMPTS / foreign).touch()
    assert start_attempt(root).number == 6


def test_what_lies_in_the_way_is_named_when_attempts_cannot_be_counted(tmp_path: Path) -> None:
    """No other start will do better, and nothing has to be made writable."""
    (tmp_path / ATTEMPTS).touch()
    with pytest.raises(DirectoryError, match=r"/\.attempts is no directory\. Move it away"):
        start_attempt(tmp_path)


def test_attempts_differ_when_several_start_at_once(tmp_path: Path) -> None:
    """By number, so that one of them is the newest; the others are fenced off."""
    attempts = list[Attempt]()
    threads = [
        threading.Thread(target=lambda: attempts.append(start_attempt(tmp_path))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    newest = max(attempts)
    assert [attempt.number for attempt in attempts].count(newest.number) == 1
    for attempt in attempts:
        if attempt != newest:
            with pytest.raises(FencedError):
                reserve(tmp_path, SaveName(10, attempt))
    reserve(tmp_path, SaveName(10, newest))


def test_older_attempt_is_fenced_off_when_a_newer_one_has_started(tmp_path: Path) -> None:
    """It can neither reserve nor commit, and what it has written is no checkpoint."""
    older = start_attempt(tmp_path)
    name = write_save(tmp_path, 10, older)
    start_attempt(tmp_path)
    with pytest.raises(FencedError, match=f"attempt {older} is over"):
        do_commit(tmp_path, name)
    with pytest.raises(FencedError, match=f"attempt {older} is over"):
        reserve(tmp_path, SaveName(20, older))
    assert not (tmp_path / str(SaveName(20, older))).exists()
    assert latest_committed(tmp_path) is None


def test_attempt_is_refused_when_the_directory_cannot_be_written(tmp_path: Path) -> None:
    """In one line that says what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryError, match=r"cannot be written \(.*\): make it writable"):
        start_attempt(tmp_path / "file")
    with pytest.raises(CheckpointError, match="cannot be written"):
        start_attempt(Path("/proc/none"))


@pytest.mark.parametrize(
    ("number", "is_lasting"),
    [
        (errno.EACCES, True),
        (errno.EROFS, True),
        (errno.ENOSPC, False),
        (errno.EIO, False),
        (errno.ESTALE, False),
    ],
)
def test_attempt_is_refused_for_good_when_trying_again_would_not_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, is_lasting: bool
) -> None:
    """A disk may get room, a server come back; a permission does not."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(CheckpointError) as raised:
        start_attempt(tmp_path / "run")
    assert isinstance(raised.value, ConfigError) == is_lasting


def test_reservation_is_refused_when_the_directory_exists(tmp_path: Path) -> None:
    """Another world's shards may lie in it."""
    name = SaveName(10, start_attempt(tmp_path))
    reserve(tmp_path, name)
    with pytest.raises(CheckpointError, match="cannot be reserved: File exists"):
        reserve(tmp_path, name)


def test_reservation_is_refused_when_the_attempts_are_gone(tmp_path: Path) -> None:
    """Without them nobody can tell whether a newer one has started."""
    with pytest.raises(CheckpointError, match="cannot be read"):
        reserve(tmp_path, SaveName(10, Attempt(1, "aaaa")))


def damage(directory: Path, what: str) -> None:
    """Do something to a save that lacks only its marker."""
    shard = directory / "__0_0.distcp"
    if what == "missing":
        shard.unlink()
    elif what == "short":
        shard.write_bytes(shard.read_bytes()[:-1])
    elif what == "long":
        shard.write_bytes(shard.read_bytes() + b"x")
    elif what == "no manifest":
        (directory / manifest_file(1)).unlink()
    elif what == "twice":
        write_part(directory, 1, FILES[0])
    else:
        shard.rename(directory / "elsewhere")
        shard.mkdir()


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("missing", r"__0_0\.distcp is in a manifest and not on disk"),
        ("short", "has 14 bytes, its manifest says 15"),
        ("long", "has 16 bytes, its manifest says 15"),
        ("no manifest", r"rank_00001\.json cannot be used"),
        ("twice", "two ranks have written"),
        ("a directory", "bytes, its manifest says 15"),
    ],
)
def test_commit_is_refused_when_the_save_is_not_whole(tmp_path: Path, what: str, why: str) -> None:
    """No marker, and the checkpoint before stays the newest."""
    attempt = start_attempt(tmp_path)
    before = commit_save(tmp_path, 10, attempt)
    name = write_save(tmp_path, 20, attempt)
    damage(tmp_path / str(name), what)
    with pytest.raises(CheckpointError, match=why):
        do_commit(tmp_path, name)
    assert not (tmp_path / str(name) / MARKER).exists()
    newest = latest_committed(tmp_path)
    assert newest is not None
    assert newest.path == before


def test_commit_is_refused_when_a_marker_is_there(tmp_path: Path) -> None:
    """What is committed is never written again."""
    attempt = start_attempt(tmp_path)
    directory = commit_save(tmp_path, 10, attempt)
    marker = (directory / MARKER).read_bytes()
    with pytest.raises(CheckpointError, match="could not be committed"):
        do_commit(tmp_path, SaveName(10, attempt))
    assert (directory / MARKER).read_bytes() == marker


def test_checkpoint_is_committed_when_only_the_hint_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """LATEST is for people."""
    (tmp_path / LATEST).mkdir()
    directory = commit_save(tmp_path, 10)
    assert open_checkpoint(directory).step == 10
    assert "could not be pointed to" in caplog.text


def test_word_of_an_unfinished_save_is_gone_when_it_is_committed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is there from before the directory is made; without it, the commit stands all the same."""
    attempt = start_attempt(tmp_path)
    name = write_save(tmp_path, 10, attempt)
    assert names_with(tmp_path, Mark.UNFINISHED) == {name}
    do_commit(tmp_path, name)
    assert names_with(tmp_path, Mark.UNFINISHED) == set()
    name = write_save(tmp_path, 20, attempt)
    shutil.rmtree(tmp_path / Mark.UNFINISHED)
    (tmp_path / Mark.UNFINISHED).touch()
    do_commit(tmp_path, name)
    assert "cannot be removed" in caplog.text
    with pytest.raises(CheckpointError, match="cannot be written"):
        reserve(tmp_path, SaveName(30, attempt))
    assert not (tmp_path / str(SaveName(30, attempt))).exists()


def test_missing_manifests_are_named_by_rank_when_some_have_not_written(tmp_path: Path) -> None:
    """For whoever has waited for them."""
    directory = reserve(tmp_path, SaveName(10, start_attempt(tmp_path)))
    write_part(directory, 1, {})
    assert missing_manifests(directory, 4) == [0, 2, 3]
