"""Emptying a save's directory: only of what a save consists of, and never through a link."""

import contextlib
import errno
import logging
import os
import re
from pathlib import Path

from trainer_hooks.checkpoint.layout import MARKER
from trainer_hooks.checkpoint.place import ObjectPlace, Place, sizes_in

log = logging.getLogger(__name__)

_PARTS = ("state", "manifest")
_TEMPORARY = r"\.[0-9a-f]{8}\.tmp"
_OURS = re.compile(
    rf"__\d+_\d+\.distcp(\.\d+)?|\.metadata(\.tmp)?|\.{MARKER}{_TEMPORARY}", re.ASCII
)
_OURS_IN_PARTS = re.compile(rf"rank_\d+\.json|\.rank_\d+\.json{_TEMPORARY}", re.ASCII)


def clear(directory: Place) -> bool:
    """Empty a save's directory but for what is not ours; tell whether nothing is left in it.

    The marker's place goes last: whatever is in it tells that the rest is being deleted.

    Raises:
        OSError: It could not be finished.
    """
    if isinstance(directory, ObjectPlace):
        return _clear_objects(directory)
    descriptor = _open_directory(directory)
    try:
        removed = sum(_clear_part(descriptor, part) for part in _PARTS)
        removed += _unlink_ours(descriptor, _OURS)
        left = set(_names(descriptor)) - {MARKER}
        if left:
            _name_foreign(directory, left, removed)
            return False
        os.fsync(descriptor)  # the tombstone outlives the data
        with contextlib.suppress(FileNotFoundError):  # a full disk had no room for a tombstone
            os.unlink(MARKER, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    return True


def refuse_link(directory: Place) -> None:
    """See that a directory is one itself: nothing is written or deleted where a link leads.

    Raises:
        OSError: It is a link, or none at all.
    """
    if isinstance(directory, Path):
        os.close(_open_directory(directory))


def _clear_objects(directory: ObjectPlace) -> bool:
    names = set(sizes_in(directory)) - {MARKER}
    ours = {name for name in names if _is_ours(name)}
    for name in ours:
        (directory / name).unlink(missing_ok=True)
    if names != ours:
        _name_foreign(directory, names - ours, len(ours))
        return False
    (directory / MARKER).unlink(missing_ok=True)
    return True


def _is_ours(name: str) -> bool:
    part, slash, rest = name.rpartition("/")
    if slash:
        return part in _PARTS and _OURS_IN_PARTS.fullmatch(rest) is not None
    return _OURS.fullmatch(name) is not None


def _name_foreign(directory: Place, left: set[str], removed: int) -> None:
    if removed:  # said once: the next time there is nothing of ours to remove
        log.warning("%s is deleted but for what is no part of it: %s", directory, sorted(left))


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
