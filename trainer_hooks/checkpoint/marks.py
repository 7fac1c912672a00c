"""Marks: what is known of a save, kept beside it, because a checkpoint is never written into.

::

    root/.unfinished/step_000000300.a17-5f3c     we write it, or we delete it
    root/.resumed/step_000000300.a17-5f3c        which attempts have resumed from it
    root/.pinned/step_000000300.a17-5f3c         never deleted
    root/.quarantined/step_000000300.a17-5f3c    never resumed from
    root/.verified/step_000000300.a17-5f3c       when it was last looked at, and how closely
    root/.rolled_back_to/step_000000300.a17-5f3c  a roll-back has made a start resume from it

The name alone is the claim; what is inside tells people why.
"""

import json
from enum import StrEnum

from trainer_hooks.checkpoint.durable import sync_directory, write_file
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.place import ObjectPlace, Place, read_json
from trainer_hooks.errors import CheckpointError, UntrustedFileError
from trainer_hooks.untrusted import Json

_MAX_BYTES = 1024 * 1024


class Mark(StrEnum):
    """A kind of mark, by the name of its directory."""

    UNFINISHED = ".unfinished"
    RESUMED = ".resumed"
    PINNED = ".pinned"
    QUARANTINED = ".quarantined"
    VERIFIED = ".verified"
    ROLLED_BACK_TO = ".rolled_back_to"


def names_with(root: Place, mark: Mark) -> set[SaveName]:
    """Return the saves that bear a mark; other files there don't count.

    Raises:
        CheckpointError: The marks cannot be read, which does not mean that there are none.
    """
    try:
        found = {SaveName.parse(entry.name) for entry in (root / mark).iterdir()}
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise CheckpointError(f"{root / mark} cannot be read: {_why(error)}") from error
    return {name for name in found if name is not None}


def put_mark(
    root: Place, mark: Mark, name: SaveName, body: dict[str, Json], *, is_durable: bool = True
) -> None:
    """Mark a save; an older mark of the kind is replaced.

    Args:
        root: The checkpoint directory.
        mark: The kind of mark.
        name: The save.
        body: What people and programs may read there.
        is_durable: Whether it outlives the power; a crash of this process it outlives anyway.

    Raises:
        CheckpointError: It cannot be written.
    """
    path = root / mark / str(name)
    data = json.dumps({"schema": 1} | body).encode()
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(exist_ok=True)
            sync_directory(root)
        if is_durable or isinstance(path, ObjectPlace):
            write_file(path, data)
        else:
            path.write_bytes(data)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {_why(error)}") from error


def read_mark(root: Place, mark: Mark, name: SaveName) -> dict[str, Json]:
    """Return what a mark says; nothing if it is absent or says nothing that we understand."""
    try:
        body = read_json(root / mark / str(name), max_bytes=_MAX_BYTES)
    except (OSError, UntrustedFileError):
        return {}
    return body if body.get("schema") == 1 else {}


def remove_mark(root: Place, mark: Mark, name: SaveName) -> bool:
    """Take a mark off; tell whether it was there.

    Raises:
        CheckpointError: It cannot be removed.
    """
    path = root / mark / str(name)
    try:
        path.unlink()
        sync_directory(path.parent)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CheckpointError(f"{path} cannot be removed: {_why(error)}") from error
    return True


def _why(error: OSError) -> str:
    is_in_the_way = isinstance(error, (FileExistsError, NotADirectoryError))
    return f"{error.strerror}{', move it away' if is_in_the_way else ''}"
