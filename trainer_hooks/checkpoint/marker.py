"""Reading the marker of a save, which anybody may have written: what it says, or why it is none."""

from datetime import UTC, datetime

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.layout import MARKER, SaveName
from trainer_hooks.checkpoint.manifest import FileEntry, unsealed
from trainer_hooks.checkpoint.place import Place, read_json
from trainer_hooks.checkpoint.removal import TOMBSTONE
from trainer_hooks.errors import UncommittedError, UntrustedFileError
from trainer_hooks.untrusted import Json, in_one_line

MAX_DURATION_S = 1e6
"""Eleven days: no save takes that."""

MAX_MARKER_BYTES = 64 * 1024 * 1024
"""About 400,000 files."""


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
                raise UncommittedError(
                    f"{path}: the marker is of step {step}, attempt {in_one_line(attempt)}"
                )
            if not _is_instant(created):
                raise UncommittedError(f"{path}: unusable commit marker: created is no instant")
            if world_size < 1:
                raise UncommittedError(f"{path}: unusable commit marker: of {world_size} ranks")
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
        instant = datetime.fromisoformat(text)
        return instant.tzinfo is not None and instant.astimezone(UTC) is not None
    except (ValueError, OverflowError):
        return False


def _read_entries(path: Place, files: list[Json]) -> tuple[FileEntry, ...]:
    try:
        return tuple(FileEntry.from_json(entry) for entry in files)
    except ValueError as error:
        raise UncommittedError(f"{path}: unusable commit marker: {error}") from error
