"""What there is in a checkpoint directory, and what state it is in, for people and programs."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.latest import Checkpoint, examined
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.marker import read_marker
from trainer_hooks.checkpoint.marks import Mark, names_with, read_mark
from trainer_hooks.checkpoint.pins import pinned
from trainer_hooks.checkpoint.place import Place, bytes_in
from trainer_hooks.checkpoint.removal import was_committed
from trainer_hooks.errors import CheckpointError, UncommittedError
from trainer_hooks.untrusted import Json


class SaveState(StrEnum):
    """What a save is worth."""

    COMMITTED = "committed"
    """A checkpoint: its marker is right and its files have the right lengths."""
    UNCOMMITTED = "uncommitted"
    """No checkpoint: being written, given up, or being deleted."""
    TORN = "torn"
    """It was committed, and is damaged."""
    QUARANTINED = "quarantined"
    """Never resumed from, whole or not, because somebody said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One save in the directory."""

    name: SaveName
    step: int
    state: SaveState
    reason: str | None
    """Why it is not ``committed``."""
    world_size: int | None
    """Ranks that wrote it; None where no marker says so."""
    bytes: int
    """What it takes on the disk."""
    created: str | None
    """When it was committed: RFC 3339, UTC."""
    pinned: str | None
    """Why it is not deleted, if it is pinned or being read."""
    verified: str | None
    """When its bytes were last found to be right, and how closely they were looked at."""

    def to_json(self) -> dict[str, Json]:
        """Return it as it stands in ``ls --json``."""
        return asdict(self) | {"name": str(self.name)}


def catalogue(root: Place) -> list[Entry]:
    """Return all saves under ``root``, newest first. Any process may call it.

    Raises:
        CheckpointError: It cannot be told what is there.
    """
    pins = pinned(root, datetime.now(UTC))
    quarantined = names_with(root, Mark.QUARANTINED)
    try:
        return [
            _entry(root, name, found, pinned=pins.get(name), is_quarantined=name in quarantined)
            for name, found in examined(root)
        ]
    except OSError as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{root} cannot be read: {error}") from error


def _entry(
    root: Place,
    name: SaveName,
    found: Checkpoint | UncommittedError,
    *,
    pinned: str | None,
    is_quarantined: bool,
) -> Entry:
    verified = read_mark(root, Mark.VERIFIED, name)
    state, reason = _state(root, name, found, verified)
    if is_quarantined:
        why = read_mark(root, Mark.QUARANTINED, name).get("reason")
        state, reason = SaveState.QUARANTINED, str(why or "no reason was given")
    marker = _marker(root / str(name))
    return Entry(
        name=name,
        step=name.step,
        state=state,
        reason=reason,
        world_size=None if marker is None else marker.world_size,
        bytes=bytes_in(root / str(name)),
        created=None if marker is None else marker.created,
        pinned=pinned,
        verified=_verified(verified),
    )


def _state(
    root: Place,
    name: SaveName,
    found: Checkpoint | UncommittedError,
    verified: dict[str, Json],
) -> tuple[SaveState, str | None]:
    directory = root / str(name)
    if isinstance(found, Checkpoint):
        damage = verified.get("damage")
        if isinstance(damage, list) and damage:
            return SaveState.TORN, f"found {verified.get('at')}: {'; '.join(map(str, damage))}"
        return SaveState.COMMITTED, None
    reason = str(found).removeprefix(f"{directory}: ")
    return (SaveState.TORN if was_committed(directory) else SaveState.UNCOMMITTED), reason


def _marker(directory: Place) -> CommitMarker | None:
    try:
        return read_marker(directory)
    except UncommittedError:
        return None


def _verified(mark: dict[str, Json]) -> str | None:
    match mark:
        case {"at": str(at), "level": str(level), "damage": []}:
            return f"{at} {level}"
    return None
