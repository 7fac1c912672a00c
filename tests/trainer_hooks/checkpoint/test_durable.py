"""Files that are whole or absent, whoever writes them and whatever fails."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from trainer_hooks.checkpoint.durable import create_file, sync_directory, write_file

Write = Callable[[Path, bytes], None]


def fail(number: int) -> Callable[..., None]:
    """Return a function that fails as the system does."""

    def failing(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return failing


def names(directory: Path) -> list[str]:
    """Return what is in a directory, hidden files too."""
    return sorted(entry.name for entry in directory.iterdir())


@pytest.mark.parametrize("write", [write_file, create_file])
def test_file_is_whole_when_it_is_new(write: Write, tmp_path: Path) -> None:
    """And nothing else is left."""
    write(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert names(tmp_path) == ["file"]


def test_file_is_replaced_when_it_is_written_again(tmp_path: Path) -> None:
    """A reader that holds the old one keeps it whole."""
    write_file(tmp_path / "file", b"old")
    with (tmp_path / "file").open("rb") as reader:
        write_file(tmp_path / "file", b"new")
        assert reader.read() == b"old"
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("has_hard_links", [True, False])
def test_file_is_never_replaced_when_it_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_hard_links: bool
) -> None:
    """A marker that is there stays as it is, also on file systems without hard links."""
    if not has_hard_links:
        monkeypatch.setattr(os, "link", fail(errno.EPERM))
    create_file(tmp_path / "file", b"first")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize(
    ("write", "call"),
    [
        (write_file, "fsync"),
        (write_file, "replace"),
        (create_file, "fsync"),
        (create_file, "link"),
    ],
)
def test_nothing_is_left_when_the_system_fails(
    write: Write, call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is not made fuller, and the old file stands."""
    write_file(tmp_path / "old", b"old")
    monkeypatch.setattr(os, call, fail(number))
    path = tmp_path / ("old" if write is write_file else "new")
    with pytest.raises(OSError, match=os.strerror(number)):
        write(path, b"new")
    monkeypatch.undo()
    assert (tmp_path / "old").read_bytes() == b"old"
    assert names(tmp_path) == ["old"]


def test_write_is_refused_when_a_directory_has_the_name(tmp_path: Path) -> None:
    """Without a temporary file beside it."""
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path / "file", b"")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "file", b"")
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("write", [write_file, create_file])
def test_file_is_one_writers_when_several_write_at_once(write: Write, tmp_path: Path) -> None:
    """Whole; and of those that create it, exactly one succeeds."""
    together, succeeded = threading.Barrier(8), list[int]()

    def run(number: int) -> None:
        together.wait()
        try:
            write(tmp_path / "file", bytes([number]) * 10_000)
        except FileExistsError:
            return
        succeeded.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    data = (tmp_path / "file").read_bytes()
    assert data == data[:1] * 10_000
    assert data[0] in succeeded
    assert len(succeeded) == (1 if write is create_file else 8)
    assert names(tmp_path) == ["file"]


def test_file_and_directory_are_synced_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file before its name appears, the directory after: a rename alone is not durable."""
    order = list[str]()
    sync = os.fsync

    def note(descriptor: int) -> None:
        what = Path(f"/proc/self/fd/{descriptor}").readlink()
        is_there = "after" if (tmp_path / "file").exists() else "before"
        order.append(f"{'directory' if what == tmp_path else 'file'} {is_there}")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    for write in (create_file, write_file):
        write(tmp_path / "file", b"data")
        assert order[:2] == ["file before", "directory after"] or write is write_file
    assert order[2:] == ["file after", "directory after"]


def test_directory_is_refused_when_it_is_none(tmp_path: Path) -> None:
    """Syncing something else would prove nothing."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        sync_directory(tmp_path / "file")
