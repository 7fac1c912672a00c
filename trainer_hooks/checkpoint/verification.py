"""Looking at a checkpoint as closely as is asked for, and keeping what was found beside it."""

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum

from trainer_hooks.checkpoint.latest import damaged_files, open_checkpoint
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.marks import Mark, put_mark, read_mark
from trainer_hooks.checkpoint.pins import reading
from trainer_hooks.checkpoint.place import ObjectPlace, Place
from trainer_hooks.checkpoint.removal import was_committed
from trainer_hooks.errors import CheckpointError, UncommittedError


class Level(StrEnum):
    """How closely a checkpoint is looked at; each includes those before it."""

    SIZES = "sizes"
    """The marker, and the length of every file."""
    LOAD = "load"
    """Every byte's digest, and every tensor and state file loaded."""


def verify(
    root: Place, name: SaveName, level: Level, on_bytes: Callable[[int], object] = bool
) -> list[str]:
    """Look at a save; return what is wrong with it: nothing if it is a good checkpoint.

    The verdict is kept where it can be written, for ``ls``; a good one does not displace one of
    a closer look. None is kept of what is no checkpoint: it may be one in a moment, and a good one.
    Retention leaves the checkpoint alone meanwhile.

    Raises:
        CheckpointError: It cannot be told what it is: a store is in trouble, say.
    """
    now, path = datetime.now(UTC), root / str(name)
    is_one = was_committed(path)
    with reading(root, name, now):
        damage = _look(path, level, on_bytes)
    if not is_one or not was_committed(path):
        return damage
    if level is Level.LOAD or damage or read_mark(root, Mark.VERIFIED, name).get("level") != "load":
        at = now.isoformat(timespec="seconds")
        with contextlib.suppress(CheckpointError):  # read-only storage is verified all the same
            put_mark(root, Mark.VERIFIED, name, {"at": at, "level": level, "damage": [*damage]})
    return damage


def _look(path: Place, level: Level, on_bytes: Callable[[int], object]) -> list[str]:
    try:
        checkpoint = open_checkpoint(path)
    except UncommittedError as error:
        return [str(error).removeprefix(f"{path}: ")]
    if level is Level.SIZES:
        return []
    damage = [
        f"{name} is damaged, its digest differs"
        for name in damaged_files(checkpoint, on_bytes=on_bytes)
    ]
    if damage:
        return damage  # nothing of it is loaded, as in a resume
    from trainer_hooks.checkpoint.load_test import load_all  # noqa: PLC0415 - digests need no torch

    try:
        load_all(checkpoint, on_bytes)
    except CheckpointError as error:
        if isinstance(path, ObjectPlace) and isinstance(error.__cause__, OSError):
            raise  # the store is in trouble, and the checkpoint may be good
        return [str(error).removeprefix(f"{path}: ")]
    return []
