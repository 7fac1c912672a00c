"""Deleting saves so that a crash in between leaves nothing that could be taken for a checkpoint.

The marker goes first: a *tombstone* takes its place, so that nobody can commit the save any more
and anybody may finish its deletion. The data follows, and the tombstone goes last.
"""

import contextlib
import errno
import json
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

from trainer_hooks.checkpoint.durable import create_file, sync_directory, write_file
from trainer_hooks.checkpoint.layout import MARKER, SaveName
from trainer_hooks.checkpoint.marks import Mark, put_mark, remove_mark
from trainer_hooks.errors import CheckpointError, UntrustedFileError
from trainer_hooks.untrusted import Json, read_json_object

log = logging.getLogger(__name__)

TOMBSTONE: dict[str, Json] = {"schema": 1, "deleted": True}
"""In the marker's place: it says that this was deleted on purpose, and damage never spells it."""

_MAX_TOMBSTONE_BYTES = 256

_FULL = {errno.ENOSPC, errno.EDQUOT}

_PARTS = ("state", "manifest")
_TEMPORARY = r"\.[0-9a-f]{8}\.tmp"
_OURS = re.compile(rf"__\d+_\d+\.distcp|\.metadata(\.tmp)?|\.{MARKER}{_TEMPORARY}", re.ASCII)
_OURS_IN_PARTS = re.compile(rf"rank_\d+\.json|\.rank_\d+\.json{_TEMPORARY}", re.ASCII)


def has_tombstone(directory: Path) -> bool:
    """Tell whether a save's deletion has begun. A marker that cannot be read is no tombstone."""
    try:
        data = read_json_object(
            directory / MARKER, max_bytes=_MAX_TOMBSTONE_BYTES, may_be_linked=True
        )
    except (OSError, UntrustedFileError):
        return False
    return data == TOMBSTONE


def delete_checkpoint(root: Path, name: SaveName) -> bool:
    """Delete a committed checkpoint. Once its tombstone stands it is none any more.

    Returns:
        Whether all of it is gone; see ``finish_deletion``.

    Raises:
        CheckpointError: It could not be finished; ``finish_deletion`` goes on with it.
    """
    with contextlib.suppress(CheckpointError):  # a full disk has no room, and needs this the most
        put_mark(root, Mark.UNFINISHED, name, {})  # first, so that a crash leaves word of the rest
    marker = root / str(name) / MARKER
    with _said(root / str(name)):
        try:
            write_file(marker, json.dumps(TOMBSTONE).encode())
        except OSError as error:
            if error.errno not in _FULL:
                raise
            marker.unlink()
            sync_directory(marker.parent)
    return finish_deletion(root, name)


def delete_uncommitted(root: Path, name: SaveName) -> bool:
    """Delete a save that was marked unfinished and not committed, unless its writer commits first.

    The tombstone is created like a marker, only if none is there; so exactly one of the two wins.

    Returns:
        Whether all of it is gone.

    Raises:
        CheckpointError: As for ``delete_checkpoint``.
    """
    directory = root / str(name)
    if not os.path.lexists(directory):
        return remove_mark(root, Mark.UNFINISHED, name)
    with _said(directory):
        # Itself, not what a link leads to: nothing is written or deleted there.
        os.close(_open_directory(directory))
        try:
            create_file(directory / MARKER, json.dumps(TOMBSTONE).encode())
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _FULL:  # where there is room for no marker, nobody commits
                raise
    return finish_deletion(root, name)


def finish_deletion(root: Path, name: SaveName) -> bool:
    """Remove the data of a save that has its tombstone, then the tombstone.

    Only what a save consists of is removed. If there is anything else it stays, with the
    tombstone, and is named in one line.

    Returns:
        Whether all of it is gone.

    Raises:
        CheckpointError: It could not be finished.
    """
    directory = root / str(name)
    with _said(directory):
        if not _clear(directory):
            return False
        directory.rmdir()
        sync_directory(root)
    for mark in (Mark.RESUMED, Mark.VERIFIED, Mark.UNFINISHED):
        remove_mark(root, mark, name)
    return True


@contextlib.contextmanager
def _said(directory: Path) -> Iterator[None]:
    """Raise what the system refuses as an error of ours."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"{directory} could not be deleted: {error.strerror}. It is tried again with the next"
        ) from error


def _clear(directory: Path) -> bool:
    """Empty a save's directory but for what is not ours; tell whether nothing is left in it."""
    descriptor = _open_directory(directory)
    try:
        removed = sum(_clear_part(descriptor, part) for part in _PARTS)
        removed += _unlink_ours(descriptor, _OURS)
        left = sorted(set(_names(descriptor)) - {MARKER})
        if left:
            if removed:  # said once: the next time there is nothing of ours to remove
                log.warning("%s is deleted but for what is no part of it: %s", directory, left)
            return False
        os.fsync(descriptor)  # the tombstone outlives the data
        with contextlib.suppress(FileNotFoundError):  # a full disk had no room for a tombstone
            os.unlink(MARKER, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    return True


def _open_directory(path: str | Path, *, within: int | None = None) -> int:
    """Open a directory itself, never one that a link leads to: what is in it will be deleted."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, dir_fd=within)


def _clear_part(parent: int, part: str) -> int:
    """Remove one of our directories in a save's, with what we have put there."""
    try:
        descriptor = _open_directory(part, within=parent)
    except (FileNotFoundError, NotADirectoryError):
        return 0
    try:
        removed = _unlink_ours(descriptor, _OURS_IN_PARTS)
    finally:
        os.close(descriptor)
    try:
        os.rmdir(part, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return removed
    return removed + 1


def _unlink_ours(descriptor: int, ours: re.Pattern[str]) -> int:
    names = [name for name in _names(descriptor) if ours.fullmatch(name)]
    for name in names:
        os.unlink(name, dir_fd=descriptor)
    return len(names)


def _names(descriptor: int) -> list[str]:
    return os.listdir(descriptor)
