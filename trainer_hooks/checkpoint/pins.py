"""Pins: checkpoints that are not deleted, for good or while somebody reads them."""

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

from trainer_hooks.checkpoint.durable import write_file
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.marks import Mark, names_with, put_mark, read_mark, remove_mark
from trainer_hooks.checkpoint.place import Place, read_json
from trainer_hooks.checkpoint.removal import has_tombstone, was_committed
from trainer_hooks.errors import CheckpointError, UntrustedFileError
from trainer_hooks.untrusted import in_one_line

READERS = ".reading"
"""A file for each reader, ``NAME.TOKEN``: several may read one checkpoint at a time."""

READER_KEEPS = timedelta(days=1)
"""What a reader that dies leaves behind holds so long, which no reading takes."""

DECIDING_S = 5.0
"""From the word of a deletion to its beginning there are two small files."""

_MAX_BYTES = 64 * 1024


def pinned(root: Place, now: datetime) -> dict[SaveName, str]:
    """Return the saves that are not to be deleted, and why.

    Raises:
        CheckpointError: The pins cannot be read, which does not mean that there are none.
    """
    read = dict.fromkeys(_being_read(root, now), "being read")
    pins = names_with(root, Mark.PINNED)
    said = {n: str(read_mark(root, Mark.PINNED, n).get("reason", "pinned")) for n in pins}
    return read | {name: in_one_line(why) for name, why in said.items()}


def pin(root: Place, name: SaveName, reason: str) -> None:
    """Keep a save from being deleted.

    Raises:
        CheckpointError: It is being deleted, or the pin cannot be written.
    """
    path = root / str(name)
    is_checkpoint = was_committed(path)
    put_mark(root, Mark.PINNED, name, {"reason": reason})
    if is_checkpoint:
        _see_deletion_decided(root, name)
        is_there = was_committed(path)
    else:
        is_there = path.is_dir() and not has_tombstone(path)
    if not is_there:
        remove_mark(root, Mark.PINNED, name)
        raise CheckpointError(f"{name} is not pinned: it was being deleted")


def _see_deletion_decided(root: Place, name: SaveName) -> None:
    """Wait while somebody has left word that he deletes it, and has not begun; he may see the pin.

    Word of a deletion that was cut short just there is not waited for any longer.
    """
    until = time.monotonic() + DECIDING_S
    while name in names_with(root, Mark.UNFINISHED) and was_committed(root / str(name)):
        if time.monotonic() > until:
            return
        time.sleep(0.05)


@contextlib.contextmanager
def reading(root: Place, name: SaveName, now: datetime) -> Iterator[None]:
    """Keep a checkpoint while a block reads it, also from a run's retention on another node.

    Where nothing can be written, on a read-only mount, it is read without that.
    """
    path = root / READERS / f"{name}.{secrets.token_hex(4)}"
    until = (now + READER_KEEPS).isoformat(timespec="seconds")
    by = f"{socket.gethostname()}:{os.getpid()}"
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        write_file(path, json.dumps({"schema": 1, "until": until, "by": by}).encode())
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


def _being_read(root: Place, now: datetime) -> set[SaveName]:
    try:
        entries: list[Place] = list((root / READERS).iterdir())
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise CheckpointError(f"{root / READERS} cannot be read: {error.strerror}") from error
    named = [(SaveName.parse(entry.stem), entry) for entry in entries]
    return {name for name, entry in named if name is not None and not _is_over(entry, now)}


def _is_over(path: Place, now: datetime) -> bool:
    """Tell whether a reader's time is over; one whose word we can't understand still reads."""
    try:
        until = read_json(path, max_bytes=_MAX_BYTES).get("until")
        return datetime.fromisoformat(str(until)) < now
    except FileNotFoundError:
        return True
    except (OSError, UntrustedFileError, ValueError, TypeError):
        return False
