"""The flag file's schema, version 1, in both directions; pure.

The file is the only thing the trainers read. ``tests/contract/notice_v1.json`` pins it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from watcher.errors import FlagUnreadable
from watcher.notice import Deadline, Moment, Notice, NoticeKind, Standing, rfc3339

SCHEMA = 1

_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What damaged fields raise where they are read."""

_YEARS = range(1970, 2200)
"""Years that a flag can speak of; arithmetic with times of any other may overflow."""

_LONGEST_S = 86_400.0 * 366 * len(_YEARS)
"""Seconds within which a time on CLOCK_BOOTTIME lies, whichever way."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes the flag: the node's name, and the boot for which the flag is valid."""

    node: str
    boot_id: str


def compose(in_force: Sequence[Standing], writer: Writer, written: Moment, seq: int) -> bytes:
    """Return the flag file for the notices in force, the most urgent first; at least one."""
    standing, *others = in_force
    notice = standing.notice
    deadline = notice.deadline
    document = {
        "schema": SCHEMA,
        "seq": seq,
        "id": notice.id,
        "kind": notice.kind,
        "urgency": standing.urgency,
        "source": notice.source,
        "node": writer.node,
        "instance_id": notice.instance_id,
        "action": notice.action,
        "received_at": rfc3339(notice.received.wall),
        "deadline": rfc3339(deadline.wall) if deadline else None,
        "deadline_boottime_s": deadline.boottime_s if deadline else None,
        "written_at": rfc3339(written.wall),
        "written_boottime_s": written.boottime_s,
        "boot_id": writer.boot_id,
        "drill": notice.kind is NoticeKind.DRILL,
        "detail": dict(notice.detail),
        "also": [other.notice.id for other in others],
    }
    # ASCII only: a cloud's words may hold lone surrogates, which UTF-8 can't.
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def parse(data: bytes, boot_id: str) -> Notice:
    """Return the notice that a flag of this boot was written for, as it was then.

    Raises:
        FlagUnreadable: It is damaged, of another schema, or of another boot.
    """
    try:
        flag = json.loads(data)
        _check_valid(flag["schema"], flag["boot_id"], boot_id)
        written = Moment(_wall(flag["written_at"]), _boottime_s(flag["written_boottime_s"]))
        received = _wall(flag["received_at"])
        age_s = (written.wall - received).total_seconds()
        deadline = None
        if flag["deadline"] is not None:
            deadline = Deadline(_wall(flag["deadline"]), _boottime_s(flag["deadline_boottime_s"]))
        return Notice(
            id=str(flag["id"]),
            kind=NoticeKind(flag["kind"]),
            source=str(flag["source"]),
            received=Moment(received, written.boottime_s - age_s),
            deadline=deadline,
            action=_word(flag["action"]),
            instance_id=_word(flag["instance_id"]),
            detail={str(name): str(word) for name, word in flag["detail"].items()},
        )
    except _DAMAGE as error:
        raise FlagUnreadable(f"{type(error).__name__}: {error}"[:200]) from error


def _check_valid(schema: object, boot_id: object, running_boot_id: str) -> None:
    if type(schema) is not int or schema != SCHEMA:  # true and 1.0 are equal to 1
        raise FlagUnreadable(f"schema {schema!r:.40}; this daemon knows {SCHEMA}")
    if boot_id != running_boot_id:
        raise FlagUnreadable(f"void: written in boot {boot_id!r:.40}, not in this one")


def _wall(text: str) -> datetime:
    wall = datetime.fromisoformat(text).astimezone(UTC)
    if wall.year not in _YEARS:
        raise ValueError(f"the year {wall.year}")
    return wall


def _boottime_s(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.40} is no number of seconds")
    seconds = float(value)
    if not abs(seconds) <= _LONGEST_S:  # also where it is no number
        raise ValueError(f"{seconds} s on CLOCK_BOOTTIME")
    return seconds


def _word(value: object) -> str | None:
    return None if value is None else str(value)
