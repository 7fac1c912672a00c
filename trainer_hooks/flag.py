"""The flag file ``notice.json`` v1: what the watcher says, read and judged without torch.

A flag is present while a notice is in force. Whatever cannot be understood is an error here and a
stop for the caller: a trainer that ignores a damaged flag loses its work, one that stops too
early loses a restart.
"""

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from trainer_hooks.at_stop import ASSUMED_S
from trainer_hooks.clock import boot_id, boottime_s, is_boottime_shifted, seconds_left
from trainer_hooks.errors import FlagError, UntrustedFileError
from trainer_hooks.untrusted import Json, read_json_object

FLAG_NAME = "notice.json"
MAX_FLAG_BYTES = 64 * 1024
CLOCK_TOLERANCE_S = 2.0
"""How far the writer's two clocks and ours may drift apart before boottime is not believed."""

OVERDUE_S = 600.0
"""AWS leaves a notice up when it fails to take the instance (cloud-contract 1.2, 2026-11-30)."""


WINDOWS_S: Mapping[str, float] = MappingProxyType(
    {
        "capacity_end": 120.0,
        "maintenance": 60.0,
        "live_migration": 60.0,
        "rebalance": 600.0,
        "hardware": 0.0,
        "node_request": 600.0,
        "shutdown": 5.0,
        "drill": 120.0,
    }
)
"""The windows of kinds without a deadline, as in the watcher's policy (cloud-contract 0 and 8,
2026-11-30); every other kind has ``ASSUMED_S``."""


USER = "user"
"""The id of a stop that a user has asked for: the job is to end, and not to go on elsewhere."""

ROLL_BACK = "roll-back-"
"""How the id of a stop begins that a guard has asked for, to forget what was reached."""

DEADLINE_JITTER_S = 1.0
"""Smaller differences are two readings of one deadline, not news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopNotice:
    """One notice as the trainer knows it, from the flag file, over HTTP or from a signal."""

    id: str
    """The notice's id, the same on every node that heard of it."""
    is_stop: bool
    """True: the node goes away. False: advisory, the next save is brought forward."""
    deadline_s: float | None
    """Instant on CLOCK_BOOTTIME of this machine; None when nobody knows."""
    source: str
    """Who said so, for people: ``flag:aws_imds``, ``url:aws_imds`` or ``signal``."""
    window_s: float = ASSUMED_S
    """What is assumed to be left when nobody knows the deadline."""
    is_drill: bool = False
    """Somebody is trying it out: to be taken like any other, and not to be counted."""
    is_roll_back: bool = False
    """The run itself asks for it, to forget what it has reached."""
    received_at: float | None = field(default=None, compare=False)
    """When the watcher had it in hand, in Unix seconds of its clock; for the record alone."""
    written_at: float | None = field(default=None, compare=False)
    """When it put it into the flag file, likewise."""

    @property
    def is_overdue(self) -> bool:
        """True if the node is still there long after its deadline: the notice holds nobody back."""
        return self.deadline_s is not None and boottime_s() > self.deadline_s + OVERDUE_S

    @property
    def left_s(self) -> float | None:
        """Seconds until the deadline; None when nobody knows it."""
        return seconds_left(self.deadline_s)

    def is_before(self, deadline_s: float | None) -> bool:
        """Tell whether this stops sooner than a deadline on our CLOCK_BOOTTIME, None: unknown.

        What has passed means now, or it would be before any deadline that comes of it.
        """
        if not self.is_stop or self.deadline_s is None:
            return False
        stops_s = max(self.deadline_s, boottime_s())
        return deadline_s is None or stops_s < deadline_s - DEADLINE_JITTER_S


UNREADABLE = StopNotice(id="unreadable-flag", is_stop=True, deadline_s=None, source="flag")
"""What a flag file that cannot be understood is taken for."""


def run_directory() -> Path:
    """Return where the watcher puts its files: ``REPRIEVE_RUN_DIR``, else ``/run/reprieve``."""
    return Path(os.environ.get("REPRIEVE_RUN_DIR", "/run/reprieve"))


def read_flag(path: Path) -> StopNotice | None:
    """Read the flag file; None when there is none, or when it is from an earlier boot.

    Raises:
        FlagError: The file is there and cannot be understood. Take it for ``UNREADABLE``.
    """
    try:
        data = read_json_object(path, max_bytes=MAX_FLAG_BYTES)
    except FileNotFoundError:
        return None
    except UntrustedFileError as error:
        raise FlagError(str(error)) from error
    _check_schema(data, path)
    if _is_of_another_boot(data, path):
        return None
    return _notice(data, path, heard_by="flag")


def read_told(data: dict[str, Json], where: object) -> StopNotice:
    """Return the notice of a flag that a watcher has shown us over HTTP.

    It says what is in force now, so that no boot voids it: the watcher's may be another than the
    one that we see, as we may be in a machine within its machine.

    Raises:
        FlagError: It cannot be understood. Take it for ``UNREADABLE``.
    """
    _check_schema(data, where)
    return _notice(data, where, heard_by="url")


def _notice(data: dict[str, Json], where: object, heard_by: str) -> StopNotice:
    return StopNotice(
        id=_text(data, "id", where),
        is_stop=_is_stop(data, where),
        deadline_s=_deadline_s(data, where),
        source=f"{heard_by}:{_text(data, 'source', where)}",
        window_s=WINDOWS_S.get(str(data.get("kind")), ASSUMED_S),
        is_drill=data.get("drill") is True,
        received_at=_told_at(data, "received_at"),
        written_at=_told_at(data, "written_at"),
    )


def _told_at(data: dict[str, Json], key: str) -> float | None:
    """Return an instant that nothing is decided by: what can't be read is not known."""
    try:
        return _instant(data, key, "the flag")
    except (FlagError, OverflowError):
        return None


def _check_schema(data: dict[str, Json], where: object) -> None:
    if data.get("schema") != 1:
        raise FlagError(f"{where} has schema {data.get('schema')!r}; this trainer reads schema 1")


def _is_of_another_boot(data: dict[str, Json], where: object) -> bool:
    """Tell whether the flag was written in another boot of this machine, or in another machine."""
    of_writer = data.get("boot_id")
    if not isinstance(of_writer, str | None):
        raise FlagError(f"{where} has no readable boot_id: {of_writer!r}")
    here = boot_id()
    return here is not None and of_writer not in (None, here)


def _is_stop(data: dict[str, Json], where: object) -> bool:
    urgency = data.get("urgency")
    if urgency not in ("stop", "advisory"):
        raise FlagError(f"{where} has urgency {urgency!r}; known are stop and advisory")
    return urgency == "stop"


def _deadline_s(data: dict[str, Json], where: object) -> float | None:
    """Turn the flag's deadline into an instant on our CLOCK_BOOTTIME.

    Of the writer's wall clock and its boottime the earlier counts, unless that alone would make the
    notice overdue: a wrong clock may hurry a trainer, never hide a notice from it, nor promise it
    time that it has not. So a wall clock that was set since the writing, forward or back, does
    neither. The boottime is no answer in another boot than the writer's, nor in a time namespace of
    our own, where it has another zero under the same boot id (node-facts, 2026-11-30), unless both
    stamps of the writer agree with our clocks: then it is in there too.
    """
    if data.get("deadline") is None:
        return None
    wall_left_s = _instant(data, "deadline", where) - time.time()
    now = boottime_s()
    by_wall = now + wall_left_s
    if _is_of_another_boot(data, where):
        return by_wall
    deadline, written = _stamp(data, "deadline_boottime_s"), _stamp(data, "written_boottime_s")
    if deadline is None or written is None:
        return by_wall
    age_by_wall = time.time() - _instant(data, "written_at", where)
    do_agree = abs(age_by_wall - (now - written)) <= CLOCK_TOLERANCE_S
    if not do_agree and is_boottime_shifted():
        return by_wall
    earlier, later = sorted((by_wall, deadline))
    return later if earlier < now - OVERDUE_S else earlier


def _stamp(data: dict[str, Json], key: str) -> float | None:
    """Return a stamp of CLOCK_BOOTTIME, or None for what no clock shows."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _instant(data: dict[str, Json], key: str, where: object) -> float:
    text = _text(data, key, where)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise FlagError(f"{where} has an unreadable {key} {text!r}") from error
    if instant.tzinfo is None:  # not RFC 3339, and our time zone need not be the writer's
        raise FlagError(f"{where} has a {key} without an offset from UTC: {text!r}")
    return instant.timestamp()


def _text(data: dict[str, Json], key: str, where: object) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise FlagError(f"{where} has no readable {key}: {value!r}")
    return value
