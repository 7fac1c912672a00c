"""The draft kept in reserve: it can be written when nothing new can be made."""

import contextlib
import itertools
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.exhaustion import all_descriptors_used
from watcher.actions.reserved_draft import RESERVED_BYTES, ReservedDraft


@contextlib.contextmanager
def mounted(at: Path, options: str) -> Iterator[Path]:
    """Mount a small tmpfs in the block."""
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", at], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def fill(disk: Path) -> None:
    """Take all space and every inode that the disk has left."""
    with (disk / "full").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    with contextlib.suppress(OSError):
        for number in itertools.count():
            (disk / f"full-{number}").touch()
    assert shutil.disk_usage(disk).free == os.statvfs(disk).f_ffree == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_draft_is_written_twice_when_the_disk_has_become_full(tmp_path: Path) -> None:
    """At first neither space nor an inode is left but those of the reserve; later no space."""
    with mounted(tmp_path / "disk", "size=64k,nr_inodes=50") as disk:
        draft, target = ReservedDraft(disk / "draft"), disk / "target"
        fill(disk)
        draft.replace(target, b"first")
        assert target.read_bytes() == b"first"
        (disk / "full-0").unlink()
        draft.replace(target, b"second" * 500)
        assert target.read_bytes() == b"second" * 500


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_target_stays_when_not_even_the_reserve_has_room(tmp_path: Path) -> None:
    """What is larger than the reserve fails as a whole, and goes when there is room again."""
    with mounted(tmp_path / "disk", "size=64k,nr_inodes=50") as disk:
        draft, target = ReservedDraft(disk / "draft"), disk / "target"
        draft.replace(target, b"as it was")
        fill(disk)
        with pytest.raises(OSError, match="No space left"):
            draft.replace(target, bytes(2 * RESERVED_BYTES[0]))
        assert target.read_bytes() == b"as it was"
        (disk / "full").unlink()
        draft.replace(target, bytes(2 * RESERVED_BYTES[0]))
        assert target.stat().st_size == 2 * RESERVED_BYTES[0]


def test_target_is_what_was_written_and_no_longer_when_space_was_reserved(tmp_path: Path) -> None:
    """Readable by everybody; the reserved rest is cut off."""
    ReservedDraft(tmp_path / "draft").replace(tmp_path / "target", b"text")
    assert (tmp_path / "target").read_bytes() == b"text"
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o644


def test_draft_is_written_again_and_again_when_all_descriptors_are_used(tmp_path: Path) -> None:
    """Each write leaves the next one its descriptor, and nobody else gets it in between."""
    draft, target = ReservedDraft(tmp_path / "draft"), tmp_path / "target"
    with all_descriptors_used():
        for text in (b"first", b"second"):
            draft.replace(target, text)
            with pytest.raises(OSError, match="Too many open files"):
                os.open(target, os.O_RDONLY)
    assert target.read_bytes() == b"second"


def test_draft_does_without_a_reserve_when_none_could_be_had(tmp_path: Path) -> None:
    """The write fails as it would have, and the next one after some are free works."""
    with all_descriptors_used():
        draft = ReservedDraft(tmp_path / "draft")
        with pytest.raises(OSError, match="Too many open files"):
            draft.replace(tmp_path / "target", b"text")
    draft.replace(tmp_path / "target", b"works")
    assert (tmp_path / "target").read_bytes() == b"works"


def test_draft_is_made_anew_when_somebody_has_put_another_in_its_place(tmp_path: Path) -> None:
    """What is moved into place is what was written, never what was found."""
    draft = ReservedDraft(tmp_path / "draft")
    (tmp_path / "draft").unlink()
    (tmp_path / "draft").write_text("somebody else's")
    draft.replace(tmp_path / "target", b"ours")
    assert (tmp_path / "target").read_bytes() == b"ours"
