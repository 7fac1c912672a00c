"""The second phase: one marker makes a directory a checkpoint.

No collective, and no rename of what is committed: the marker is created last, whole, and only if
it is absent; ``LATEST`` follows. ``docs/commit-protocol.md`` has the argument for each crash.
"""

import contextlib
import errno
import logging
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from trainer_hooks.checkpoint.durable import create_file, make_directory, sync_directory, write_file
from trainer_hooks.checkpoint.exported import refuse_export
from trainer_hooks.checkpoint.layout import (
    ATTEMPTS,
    LATEST,
    MARKER,
    Attempt,
    SaveName,
    manifest_file,
    saves,
)
from trainer_hooks.checkpoint.manifest import FileEntry, read_manifests, sealed
from trainer_hooks.checkpoint.marks import Mark, put_mark, remove_mark
from trainer_hooks.checkpoint.place import ObjectPlace, Place, sizes_in
from trainer_hooks.errors import (
    CheckpointError,
    DirectoryError,
    FencedError,
    UntrustedFileError,
)
from trainer_hooks.untrusted import read_plain_file

log = logging.getLogger(__name__)

_NUMBER = re.compile(r"[0-9]{1,18}")
_ATTEMPT = re.compile(r"a\d{1,18}-[0-9a-f]{4,16}", re.ASCII)
_MAX_NAME_BYTES = 64

LASTING = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP,
    errno.EINVAL,
}  # fmt: skip
"""Only these stay as they are until somebody comes; a full disk or a lost server may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMarker:
    """What the marker says; enough to judge the directory by."""

    name: SaveName
    world_size: int
    """Number of ranks that wrote it."""
    save_every_steps: int
    """The interval in force when it was taken."""
    took_s: float | None
    """Seconds from the beginning of the save to this marker; a resumed run plans by it."""
    created: str
    """RFC 3339, UTC, for people."""
    files: tuple[FileEntry, ...]

    @property
    def state_bytes(self) -> int:
        """Return the size of the checkpoint, of all ranks together."""
        return sum(entry.size for entry in self.files)

    def encode(self) -> bytes:
        """Return the marker file's bytes, with a digest of themselves."""
        return sealed(
            {
                "schema": 1,
                "step": self.name.step,
                "attempt": str(self.name.attempt),
                "world_size": self.world_size,
                "save_every_steps": self.save_every_steps,
                "took_s": self.took_s,
                "created": self.created,
                "files": [entry.to_json() for entry in self.files],
            }
        )


def start_attempt(root: Place) -> Attempt:
    """Take the next attempt number, which fences off every earlier attempt. One rank calls it.

    Raises:
        CheckpointError: The directory cannot be made or written; says what to do. A
            DirectoryError, if trying again would not help.
    """
    attempts = root / ATTEMPTS
    try:
        refuse_export(root)
        make_directory(attempts)
        while True:
            known = _attempt_numbers(attempts)
            number = 1 + max([*known, *(name.attempt.number for name in saves(root))], default=0)
            before = name_in(attempts / str(number - 1)) if number - 1 in known else None
            attempt = Attempt(number, secrets.token_hex(2), before)
            try:
                create_file(attempts / str(number), f"{attempt}\n".encode())
            except FileExistsError:
                continue  # somebody else has just taken it
            for older in known:
                with contextlib.suppress(OSError):  # the number is ours, whatever lies there
                    (attempts / str(older)).unlink(missing_ok=True)
            return attempt
    except FileExistsError as error:
        raise DirectoryError(
            f"checkpoint_dir {root} cannot be used: {error.filename} is no directory. Move it away"
        ) from error
    except OSError as error:
        kind = DirectoryError if error.errno in LASTING else CheckpointError
        raise kind(
            f"checkpoint_dir {root} cannot be written ({error.strerror}): "
            "make it writable, free space on it, or choose another"
        ) from error


def reserve(root: Place, name: SaveName) -> Place:
    """Make a fresh directory for a save. One rank calls it before any rank writes.

    Raises:
        FencedError: A newer attempt has started.
        CheckpointError: The directory exists, or there is no room.
    """
    directory = root / str(name)
    check_fence(root, name.attempt)
    # So that a crash leaves word that this is ours to remove. Not synced: training waits here, and
    # without the word a leftover merely stays.
    put_mark(root, Mark.UNFINISHED, name, {}, is_durable=False)
    try:
        directory.mkdir()
        (directory / "state").mkdir()
        (directory / "manifest").mkdir()
        sync_directory(directory)
        sync_directory(root)
    except OSError as error:
        raise CheckpointError(f"{directory} cannot be reserved: {error.strerror}") from error
    return directory


def commit(
    root: Place, name: SaveName, *, world_size: int, save_every_steps: int, took_s: float
) -> CommitMarker:
    """Turn a complete save into a checkpoint. The coordinator calls it, after all manifests.

    Raises:
        CheckpointError: A manifest or a file is missing or has another length, the attempt has
            been fenced off, or the marker could not be written; the save stays uncommitted.
    """
    directory = root / str(name)
    files = read_manifests(directory, world_size)
    _check_lengths(directory, files)
    check_fence(root, name.attempt)
    marker = CommitMarker(
        name=name,
        world_size=world_size,
        save_every_steps=save_every_steps,
        took_s=round(took_s, 3),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        files=tuple(files),
    )
    try:
        sync_directory(directory)
        create_file(directory / MARKER, marker.encode())
    except OSError as error:
        raise CheckpointError(f"{directory} could not be committed: {error}") from error
    try:
        write_file(root / LATEST, f"{name}\n".encode())
    except OSError as error:  # a hint for people; the checkpoint is committed all the same
        log.warning("%s could not be pointed to %s: %s", root / LATEST, name, error)
    try:
        remove_mark(root, Mark.UNFINISHED, name)
    except CheckpointError as error:  # the next attempt takes it off
        log.warning("%s", error)
    return marker


def missing_manifests(directory: Place, world_size: int) -> list[int]:
    """Return the ranks that have not written their manifest, to name them."""
    return [r for r in range(world_size) if not (directory / manifest_file(r)).exists()]


def newest_attempt(root: Place) -> int:
    """Return the number of the newest attempt; 0 if there was none.

    Raises:
        CheckpointError: The attempts cannot be read.
    """
    return max(_attempt_numbers(root / ATTEMPTS), default=0)


def check_fence(root: Place, attempt: Attempt) -> None:
    """See that no newer attempt has started.

    Raises:
        FencedError: One has.
        CheckpointError: The attempts cannot be read.
    """
    if (newest := newest_attempt(root)) > attempt.number:
        raise FencedError(
            f"attempt {attempt} is over: attempt number {newest} of this job has started in {root}"
        )


def _check_lengths(directory: Place, files: list[FileEntry]) -> None:
    try:
        objects = sizes_in(directory) if isinstance(directory, ObjectPlace) else None
    except OSError as error:
        raise CheckpointError(f"{directory} cannot be read: {error}") from error
    for entry in files:
        path = directory / entry.name
        try:
            size = (
                path.stat(follow_symlinks=False).st_size if objects is None else objects[entry.name]
            )
        except (OSError, KeyError) as error:
            raise CheckpointError(f"{path} is in a manifest and not on disk") from error
        if size != entry.size:
            raise CheckpointError(f"{path} has {size} bytes, its manifest says {entry.size}")


def name_in(place: Place) -> str | None:
    """Return what attempt has taken a number; None where that cannot be read."""
    try:
        if isinstance(place, ObjectPlace):
            with place.open() as file:
                data = file.read(_MAX_NAME_BYTES)
        else:
            data = read_plain_file(place, max_bytes=_MAX_NAME_BYTES)
    except (OSError, UntrustedFileError):
        return None
    text = data.decode(errors="replace").strip()
    return text if _ATTEMPT.fullmatch(text) else None


def _attempt_numbers(attempts: Place) -> list[int]:
    try:
        return [int(entry.name) for entry in attempts.iterdir() if _NUMBER.fullmatch(entry.name)]
    except OSError as error:
        raise CheckpointError(f"{attempts} cannot be read: {error.strerror}") from error
