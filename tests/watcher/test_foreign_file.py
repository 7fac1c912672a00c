"""What may lie in a directory that others write, and is read or refused."""

import os
from pathlib import Path

import pytest

from watcher.foreign_file import read_foreign


def read(directory: Path, limit_bytes: int = 8) -> tuple[bytes, int]:
    """Read the file called ``one`` there."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return read_foreign(descriptor, "one", limit_bytes)
    finally:
        os.close(descriptor)


def test_file_is_read_with_its_owner_when_it_is_plain(tmp_path: Path) -> None:
    """Up to its limit."""
    (tmp_path / "one").write_bytes(b"8 bytes.")
    assert read(tmp_path) == (b"8 bytes.", os.getuid())


def test_file_is_refused_when_it_is_too_long(tmp_path: Path) -> None:
    """By one byte."""
    (tmp_path / "one").write_bytes(b"9 bytes..")
    with pytest.raises(ValueError, match="larger than 8 bytes"):
        read(tmp_path)


def test_file_is_refused_when_it_has_another_name(tmp_path: Path) -> None:
    """It may be somebody else's."""
    (tmp_path / "one").write_bytes(b"")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    with pytest.raises(ValueError, match="one name"):
        read(tmp_path)


def test_nothing_hangs_when_it_is_a_fifo(tmp_path: Path) -> None:
    """To open one as it is would wait for a writer."""
    os.mkfifo(tmp_path / "one")
    with pytest.raises(ValueError, match="regular file"):
        read(tmp_path)


def test_link_is_not_followed(tmp_path: Path) -> None:
    """Wherever it leads."""
    (tmp_path / "one").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="symbolic links"):
        read(tmp_path)
