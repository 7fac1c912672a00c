"""Finding the newest committed checkpoint, and saying why another one is none.

Names are parsed and ordered as numbers, never sorted as strings; ``LATEST`` is not asked, because
a crash may lie between the marker and it.
"""

import logging
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.kept import Kept
from trainer_hooks.checkpoint.layout import SaveName, saves, writer_of
from trainer_hooks.checkpoint.manifest import FileEntry, digest_of_file
from trainer_hooks.checkpoint.marker import read_marker
from trainer_hooks.checkpoint.marks import Mark, names_with, read_mark
from trainer_hooks.checkpoint.place import ObjectPlace, Place, sizes_in
from trainer_hooks.checkpoint.removal import was_committed
from trainer_hooks.checkpoint.shards import READERS
from trainer_hooks.errors import CheckpointError, UncommittedError
from trainer_hooks.untrusted import in_one_line

log = logging.getLogger(__name__)


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
    for found in judged(root):
        if isinstance(found, Checkpoint):
            yield found
        else:
            log.warning("passed over %s", found)


def judged(root: Place) -> Iterator[Checkpoint | str]:
    """Yield for each save, newest first, the checkpoint to resume from, or why it is passed over.

    Raises:
        CheckpointError: It cannot be told what is there, or what is in quarantine.
    """
    quarantined = names_with(root, Mark.QUARANTINED)
    for name, found in examined(root):
        if isinstance(found, UncommittedError):
            yield str(found)
        elif name in quarantined:
            why = read_mark(root, Mark.QUARANTINED, name).get("reason")
            yield f"{found.path}: in quarantine: {in_one_line(str(why))}"
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


def damaged_files(
    checkpoint: Checkpoint,
    *,
    share: int = 0,
    shares: int = 1,
    on_bytes: Callable[[int], object] = bool,
    kept: Kept | None = None,
) -> list[str]:
    """Read one share of the files and return the names of those whose bytes differ.

    Each rank calls it with its own share, so that each file is read by exactly one of them: a
    shard by the rank that has written it, if there are as many as then, because it is likely to
    load it too.

    ``on_bytes`` is told how many have been read since the last time, to show how far it is; of
    objects in a bucket by several threads. ``kept`` keeps those objects' bytes if it has the room.

    Raises:
        CheckpointError: A store is in trouble, or refuses: that says nothing of what it holds.
    """
    mine = _share_of(checkpoint.marker, share, shares)
    kept = kept or Kept()
    if isinstance(checkpoint.path, ObjectPlace):  # where the first byte is slow, and many are not
        with ThreadPoolExecutor(READERS, thread_name_prefix="reprieve-digest") as pool:
            intact = list(
                pool.map(
                    lambda entry: _is_intact(
                        checkpoint.path, entry, on_bytes, kept.keeper_of(entry)
                    ),
                    mine,
                )
            )
        return [entry.name for entry, is_intact in zip(mine, intact, strict=True) if not is_intact]
    return [entry.name for entry in mine if not _is_intact(checkpoint.path, entry, on_bytes)]


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


def _share_of(marker: CommitMarker, share: int, shares: int) -> list[FileEntry]:
    """Deal the files out: to those who wrote them, or in turn."""
    dealt = list(marker.files[share::shares])
    if shares != marker.world_size:
        return dealt
    shards = [entry for entry in marker.files if writer_of(entry.name) == share]
    return [entry for entry in dealt if writer_of(entry.name) not in range(shares)] + shards


def _is_intact(
    path: Place,
    entry: FileEntry,
    on_bytes: Callable[[int], object],
    keep: Callable[[memoryview], object] = bool,
) -> bool:
    def on_chunk(chunk: memoryview) -> None:
        keep(chunk)
        on_bytes(len(chunk))

    try:
        return digest_of_file(path / entry.name, on_chunk) == entry.digest
    except FileNotFoundError:
        return False
    except OSError as error:
        if isinstance(path, ObjectPlace):
            raise CheckpointError(f"{path / entry.name} cannot be read: {error}") from error
        return False  # a disk that cannot give it back has lost it
