"""Deleting saves so that a crash in between leaves nothing that could be taken for a checkpoint.

The marker goes first: a *tombstone* takes its place, so that nobody can commit the save any more
and anybody may finish its deletion. The data follows, and the tombstone goes last.
"""

import contextlib
import errno
import json
import logging
from collections.abc import Callable, Iterator

from trainer_hooks.checkpoint.clearing import clear, refuse_link
from trainer_hooks.checkpoint.durable import create_file, sync_directory, write_file
from trainer_hooks.checkpoint.layout import MARKER, SaveName
from trainer_hooks.checkpoint.marks import Mark, put_mark, remove_mark
from trainer_hooks.checkpoint.place import Place, is_there, read_json
from trainer_hooks.errors import CheckpointError, UntrustedFileError
from trainer_hooks.untrusted import Json

log = logging.getLogger(__name__)

TOMBSTONE: dict[str, Json] = {"schema": 1, "deleted": True}
"""In the marker's place: it says that this was deleted on purpose, and damage never spells it."""

_MAX_TOMBSTONE_BYTES = 256

_FULL = {errno.ENOSPC, errno.EDQUOT}


def has_tombstone(directory: Place) -> bool:
    """Tell whether a save's deletion has begun. A marker that cannot be read is no tombstone."""
    try:
        data = read_json(directory / MARKER, max_bytes=_MAX_TOMBSTONE_BYTES)
    except (OSError, UntrustedFileError):
        return False
    return data == TOMBSTONE


def was_committed(directory: Place) -> bool:
    """Tell whether a save has a marker, whole or not, and nobody deletes it.

    Raises:
        CheckpointError: It cannot be told.
    """
    return is_there(directory / MARKER) and not has_tombstone(directory)


def delete_checkpoint(
    root: Place, name: SaveName, is_wanted: Callable[[], bool] = lambda: False
) -> bool:
    """Delete a committed checkpoint. Once its tombstone stands it is none any more.

    Args:
        root: The checkpoint directory.
        name: The checkpoint.
        is_wanted: Asked once word of the deletion is left, and nothing is deleted if so. Who pins
            a checkpoint leaves that first and looks for the word then: one of the two sees the
            other.

    Returns:
        Whether all of it is gone; see ``finish_deletion``.

    Raises:
        CheckpointError: It could not be finished; ``finish_deletion`` goes on with it.
    """
    with contextlib.suppress(CheckpointError):  # a full disk has no room, and needs this the most
        put_mark(root, Mark.UNFINISHED, name, {})  # first, so that a crash leaves word of the rest
    if is_wanted():
        remove_mark(root, Mark.UNFINISHED, name)
        return False
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


def delete_uncommitted(root: Place, name: SaveName) -> bool:
    """Delete a save that was marked unfinished and not committed, unless its writer commits first.

    The tombstone is created like a marker, only if none is there; so exactly one of the two wins.

    Returns:
        Whether all of it is gone.

    Raises:
        CheckpointError: As for ``delete_checkpoint``.
    """
    directory = root / str(name)
    if not is_there(directory):
        return remove_mark(root, Mark.UNFINISHED, name)
    with _said(directory):
        refuse_link(directory)
        try:
            create_file(directory / MARKER, json.dumps(TOMBSTONE).encode())
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _FULL:  # where there is room for no marker, nobody commits
                raise
    return finish_deletion(root, name)


def discard(root: Place, name: SaveName) -> None:
    """Delete a save that has failed, and in which nobody writes any more.

    What cannot be deleted is left for the next attempt, which sweeps it.
    """
    with contextlib.suppress(CheckpointError):
        delete_uncommitted(root, name)


def finish_deletion(root: Place, name: SaveName) -> bool:
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
        if not clear(directory):
            return False
        directory.rmdir()
        sync_directory(root)
    for mark in (Mark.RESUMED, Mark.VERIFIED, Mark.ROLLED_BACK_TO, Mark.UNFINISHED):
        remove_mark(root, mark, name)
    return True


@contextlib.contextmanager
def _said(directory: Place) -> Iterator[None]:
    """Raise what the system refuses as an error of ours."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"{directory} could not be deleted: {error.strerror}. It is tried again with the next"
        ) from error
