"""Finding the newest committed checkpoint, and saying why another one is none.

Names are parsed and ordered as numbers, never sorted as strings; ``LATEST`` is not asked, because
a crash may lie between the marker and it.
"""

import logging
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.layout import MARKER, SaveName, saves
from trainer_hooks.checkpoint.manifest import FileEntry, digest_of_file, unsealed
from trainer_hooks.checkpoint.marks import Mark, names_with, read_mark
from trainer_hooks.checkpoint.place import ObjectPlace, Place, read_json, sizes_in
from trainer_hooks.checkpoint.removal import TOMBSTONE, was_committed
from trainer_hooks.checkpoint.shards import READERS
from trainer_hooks.errors import CheckpointError, UncommittedError, UntrustedFileError
from trainer_hooks.untrusted import Json

log = logging.getLogger(__name__)

MAX_DURATION_S = 1e6
"""Eleven days: no save takes that."""

MAX_MARKER_BYTES = 64 * 1024 * 1024
"""About 400,000 files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A committed checkpoint on disk."""

    path: Place
    marker: CommitMarker

    @property
    def step(self) -> int:
        """Steps finished when it was taken."""
        return self.marker.name.step


def latest_committed(root: Place) -> Checkpoint | None:
    """Return the newest committed checkpoint under ``root``, or None. Any process may call it.

    Judged by marker and file lengths; ``damaged_files`` reads every byte. What is in quarantine
    is passed over.

    Raises:
        CheckpointError: It cannot be told what is there, or what is in quarantine.
    """
    return next(committed(root), None)


def committed(root: Place) -> Iterator[Checkpoint]:
    """Yield the committed checkpoints, newest first; log in one line why others are passed over.

    Raises:
        CheckpointError: It cannot be told what is there, or what is in quarantine.
    """
    quarantined = names_with(root, Mark.QUARANTINED)
    for name, found in examined(root):
        if isinstance(found, UncommittedError):
            log.warning("passed over %s", found)
        elif name in quarantined:
            why = read_mark(root, Mark.QUARANTINED, name).get("reason")
            log.warning("passed over %s: in quarantine: %s", found.path, why)
        else:
            yield found


def examined(root: Place) -> Iterator[tuple[SaveName, Checkpoint | UncommittedError]]:
    """Yield all saves, newest first, as the checkpoint that it is or why it is none.

    Raises:
        CheckpointError: It cannot be told, because the storage or this process is in trouble.
    """
    try:
        for name in saves(root):
            try:
                found: Checkpoint | UncommittedError = open_checkpoint(root / str(name))
            except UncommittedError as error:
                found = error
            yield name, found
    except OSError as error:
        raise CheckpointError(f"{root} cannot be read: {error}") from error


def marked(root: Place) -> list[str]:
    """Return the names of all saves that have a marker, whole or not: these were checkpoints.

    Raises:
        CheckpointError: It cannot be told what is there.
    """
    try:
        return [str(name) for name in saves(root) if was_committed(root / str(name))]
    except OSError as error:
        raise CheckpointError(f"{root} cannot be read: {error}") from error


def open_checkpoint(path: Place) -> Checkpoint:
    """Return the checkpoint in a directory.

    Raises:
        UncommittedError: It is not a committed and complete one; the message says why.
    """
    marker = read_marker(path)
    if isinstance(path, ObjectPlace):
        _check_objects(path, marker.files)
    else:
        for entry in marker.files:
            _check_file(path, entry)
    return Checkpoint(path=path, marker=marker)


def read_marker(path: Place) -> CommitMarker:
    """Return what the marker in a directory says, whether its files are there or not.

    Raises:
        UncommittedError: There is none that can be used; the message says why.
    """
    name = SaveName.parse(path.name)
    if name is None or path.is_symlink() or not path.is_dir():
        raise UncommittedError(f"{path}: not a directory of ours")
    try:
        data = read_json(path / MARKER, max_bytes=MAX_MARKER_BYTES)
    except FileNotFoundError as error:
        raise UncommittedError(f"{path}: no commit marker, the save never finished") from error
    except UntrustedFileError as error:
        raise UncommittedError(f"{path}: unusable commit marker: {error}") from error
    return _parse_marker(path, name, data)


def damaged_files(
    checkpoint: Checkpoint,
    *,
    share: int = 0,
    shares: int = 1,
    on_bytes: Callable[[int], object] = bool,
) -> list[str]:
    """Read every ``shares``-th file from ``share`` on and return the names whose bytes differ.

    Each rank calls it with its own share, so that each file is read by exactly one of them.
    ``on_bytes`` is told how many have been read since the last time, to show how far it is; of
    objects in a bucket by several threads.
    """
    mine = checkpoint.marker.files[share::shares]
    if isinstance(checkpoint.path, ObjectPlace):  # where the first byte is slow, and many are not
        with ThreadPoolExecutor(READERS, thread_name_prefix="reprieve-digest") as pool:
            intact = list(
                pool.map(lambda entry: _is_intact(checkpoint.path, entry, on_bytes), mine)
            )
        return [entry.name for entry, is_intact in zip(mine, intact, strict=True) if not is_intact]
    return [entry.name for entry in mine if not _is_intact(checkpoint.path, entry, on_bytes)]


def _parse_marker(path: Place, name: SaveName, data: dict[str, Json]) -> CommitMarker:
    if data == TOMBSTONE:
        raise UncommittedError(f"{path}: it is being deleted")
    body = unsealed(data)
    if body is None:
        raise UncommittedError(f"{path}: the commit marker is damaged, its digest differs")
    match body:
        case {
            "schema": 1,
            "step": int(step),
            "attempt": str(attempt),
            "world_size": int(world_size),
            "save_every_steps": int(save_every_steps),
            "created": str(created),
            "files": list(files),
        }:
            if (step, attempt) != (name.step, str(name.attempt)):
                raise UncommittedError(f"{path}: the marker is of step {step}, attempt {attempt}")
            if not _is_instant(created):
                raise UncommittedError(f"{path}: unusable commit marker: created is no instant")
            return CommitMarker(
                name=name,
                world_size=world_size,
                save_every_steps=save_every_steps,
                took_s=_duration_s(body.get("took_s")),
                created=created,
                files=_read_entries(path, files),
            )
    raise UncommittedError(f"{path}: unusable commit marker: not one of schema 1")


def _duration_s(value: Json) -> float | None:
    """Return a duration; None for what is none, which costs a plan and not the checkpoint."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MAX_DURATION_S else None


def _is_instant(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _read_entries(path: Place, files: list[Json]) -> tuple[FileEntry, ...]:
    try:
        return tuple(FileEntry.from_json(entry) for entry in files)
    except ValueError as error:
        raise UncommittedError(f"{path}: unusable commit marker: {error}") from error


def _check_file(path: Path, entry: FileEntry) -> None:
    try:
        found = (path / entry.name).stat(follow_symlinks=False)
    except OSError as error:
        raise UncommittedError(f"{path}: {entry.name} is missing") from error
    if not stat.S_ISREG(found.st_mode):
        raise UncommittedError(f"{path}: {entry.name} is not a regular file")
    _check_size(path, entry, found.st_size)


def _check_objects(path: ObjectPlace, entries: Iterable[FileEntry]) -> None:
    """Compare with one list of all, which costs less than a question for each."""
    sizes = sizes_in(path)
    for entry in entries:
        if entry.name not in sizes:
            raise UncommittedError(f"{path}: {entry.name} is missing")
        _check_size(path, entry, sizes[entry.name])


def _check_size(path: Place, entry: FileEntry, size: int) -> None:
    if size != entry.size:
        raise UncommittedError(
            f"{path}: {entry.name} has {size} bytes, the marker says {entry.size}"
        )


def _is_intact(path: Place, entry: FileEntry, on_bytes: Callable[[int], object]) -> bool:
    try:
        return digest_of_file(path / entry.name, on_bytes) == entry.digest
    except OSError:
        return False
