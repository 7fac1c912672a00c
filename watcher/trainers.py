"""What the trainers on this node say of themselves, in ``trainers/<id>.json`` of the run directory.

Everybody on the node can write there, so nothing is trusted: a file is opened without following
links or blocking, is regular, small and there once, and says only what concerns one pod. What
can't be understood is refused, and says nothing of anybody.
"""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from watcher.foreign_file import read_foreign
from watcher.trainer_figures import NOTHING_SAID, TrainerFigures, figures_of

DIRECTORY = "trainers"
SCHEMA = 1

FRESH_S = 10.0
"""Oldest heartbeat, in seconds, of a trainer that is still taken for alive."""

FILE_LIMIT = 256
"""Most files that are looked at: one a trainer, and so many pods are on no node of any cloud."""

_SIZE_LIMIT_BYTES = 4096
_STEP_LIMIT = 2**63
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.json")
_DAMAGE = (ValueError, TypeError, KeyError, OverflowError, RecursionError)
_FOREIGN = "of another boot, or of a machine within this one"


class TrainerState(StrEnum):
    """How far a trainer has come."""

    RUNNING = "running"
    STOPPING = "stopping"
    """Its ranks have agreed where they stop, or are about to."""
    SAVED = "saved"
    """All that it will commit is committed."""
    EXITED = "exited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """One trainer, by its own word."""

    id: str
    pod_uid: str
    """The pod that it is in, as the downward API has told it; empty outside Kubernetes."""
    state: TrainerState
    heartbeat_s: float
    """When it was last alive, on CLOCK_BOOTTIME."""
    step: int
    """Steps finished."""
    committed_step: int | None = None
    """That of this run's newest commit; None before the first, or where it can't be read."""
    committed_at: datetime | None = None
    """When that was."""
    figures: TrainerFigures = NOTHING_SAID
    """What decides nothing, for metrics and people."""

    def is_alive(self, now_s: float) -> bool:
        """Tell whether it was heard from a moment ago; ``now_s`` is now, on CLOCK_BOOTTIME."""
        return abs(now_s - self.heartbeat_s) <= FRESH_S

    def is_at_work(self, now_s: float) -> bool:
        """Tell whether it is alive, and has not committed all that it will.

        Args:
            now_s: Now, on CLOCK_BOOTTIME.
        """
        return self.is_alive(now_s) and self.state in (TrainerState.RUNNING, TrainerState.STOPPING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainers:
    """All that could be learnt at one look."""

    found: tuple[Trainer, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """By name of a file why it says nothing."""
    unknown: str = ""
    """Why there may be trainers beside those found; empty where there are none."""


def read_trainers(run_dir: Path, boot_id: str) -> Trainers:
    """Return what the trainers of this boot say; blocks. Without the directory there are none."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        directory = os.open(run_dir / DIRECTORY, flags)
    except FileNotFoundError:
        return Trainers()
    except OSError as error:
        return Trainers(unknown=f"{run_dir / DIRECTORY}: {error.strerror}")
    try:
        return _look(directory, boot_id)
    except OSError as error:
        return Trainers(unknown=f"{run_dir / DIRECTORY}: {error.strerror}")
    finally:
        os.close(directory)


def _look(directory: int, boot_id: str) -> Trainers:
    found: list[Trainer] = []
    refused: dict[str, str] = {}
    with os.scandir(directory) as entries:
        for number, entry in enumerate(entries):
            if number == FILE_LIMIT:
                unknown = f"more than {FILE_LIMIT} files in {DIRECTORY}/"
                return Trainers(found=tuple(found), refused=refused, unknown=unknown)
            if not _NAME.fullmatch(entry.name):
                continue  # a draft, on its way to its name
            try:
                found.append(_trainer(directory, entry.name, boot_id))
            except FileNotFoundError:
                continue  # gone since
            except OSError as error:
                refused[entry.name] = error.strerror or type(error).__name__
            except _DAMAGE as error:
                refused[entry.name] = f"{type(error).__name__}: {error}"[:128]
    return Trainers(found=tuple(found), refused=refused)


def _trainer(directory: int, name: str, boot_id: str) -> Trainer:
    """Return what a file says; raises OSError, or one of _DAMAGE."""
    text, _ = read_foreign(directory, name, _SIZE_LIMIT_BYTES)
    said = json.loads(text)
    if said["schema"] != SCHEMA:
        raise ValueError(f"schema {said['schema']!r}, and this daemon reads {SCHEMA}")
    if said["boot_id"] != boot_id:
        # Its clock is not ours either, so that nobody can say how old its heartbeat is.
        raise ValueError(_FOREIGN)
    return Trainer(
        id=name.removesuffix(".json"),
        pod_uid="" if said["pod_uid"] is None else _text(said["pod_uid"]),
        state=TrainerState(_text(said["state"])),
        heartbeat_s=_number(said["heartbeat_boottime_s"]),
        step=int(_number(said["step"])),
        committed_step=_step(said.get("committed_step")),
        committed_at=_instant(said.get("committed_at")),
        figures=figures_of(said),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 128:
        raise TypeError(f"no short text: {value!r}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"no number: {value!r}")
    number = float(value)  # an int of hundreds of digits overflows
    if not math.isfinite(number):
        raise ValueError(f"no finite number: {value!r}")
    return number


def _step(value: object) -> int | None:
    """Return a step for people to see; a pod is not held or evicted for one that makes no sense."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _STEP_LIMIT else None


def _instant(value: object) -> datetime | None:
    """Return an instant for people to see, likewise."""
    try:
        instant = datetime.fromisoformat(_text(value))
        return instant.astimezone(UTC) if instant.tzinfo is not None else None
    except (TypeError, ValueError, OverflowError):
        return None
