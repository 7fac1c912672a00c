"""A notice as fields of JSON, in both directions; pure.

The files that a run leaves in the run directory for the next one are made of it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from watcher.errors import FlagUnreadable
from watcher.notice import Deadline, Moment, Notice, NoticeKind, rfc3339

DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What damaged fields raise where they are read."""

_YEARS = range(1970, 2200)
"""Years that a file can speak of; arithmetic with times of any other may overflow."""

_LONGEST_S = 86_400.0 * 366 * len(_YEARS)
"""Seconds within which a time on CLOCK_BOOTTIME lies, whichever way."""


def fields_of(notice: Notice) -> dict[str, object]:
    """Return the notice as :func:`notice_of` reads it; ``received`` is for the caller to write."""
    deadline = notice.deadline
    return {
        "id": notice.id,
        "kind": notice.kind,
        "source": notice.source,
        "instance_id": notice.instance_id,
        "action": notice.action,
        "deadline": rfc3339(deadline.wall) if deadline else None,
        "deadline_boottime_s": deadline.boottime_s if deadline else None,
        "detail": dict(notice.detail),
    }


def notice_of(fields: Mapping[str, Any], received: Moment) -> Notice:
    """Return the notice of the fields; raises one of DAMAGE where they can't be read."""
    deadline = None
    if fields["deadline"] is not None:
        boottime_s = boottime_of(fields["deadline_boottime_s"])
        deadline = Deadline(wall_of(fields["deadline"]), boottime_s)
    return Notice(
        id=str(fields["id"]),
        kind=NoticeKind(fields["kind"]),
        source=str(fields["source"]),
        received=received,
        deadline=deadline,
        action=_word(fields["action"]),
        instance_id=_word(fields["instance_id"]),
        detail={str(name): str(word) for name, word in fields["detail"].items()},
    )


def wall_of(text: str) -> datetime:
    """Return the time of a field; raises one of DAMAGE for what is none, or not of these ages."""
    wall = datetime.fromisoformat(text).astimezone(UTC)
    if wall.year not in _YEARS:
        raise ValueError(f"the year {wall.year}")
    return wall


def boottime_of(value: object) -> float:
    """Return the seconds of a field; raises one of DAMAGE for what is no time of CLOCK_BOOTTIME."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.40} is no number of seconds")
    seconds = float(value)
    if not abs(seconds) <= _LONGEST_S:  # also where it is no number
        raise ValueError(f"{seconds} s on CLOCK_BOOTTIME")
    return seconds


def check_valid(document: Mapping[str, Any], schema: int, boot_id: str) -> None:
    """Make sure that a document is of the schema and of the running boot.

    Raises:
        FlagUnreadable: It is not, or one of DAMAGE, where it says neither.
    """
    said = document["schema"]
    if type(said) is not int or said != schema:  # true and 1.0 are equal to 1
        raise FlagUnreadable(f"schema {said!r:.40}; this daemon knows {schema}")
    if document["boot_id"] != boot_id:
        raise FlagUnreadable(f"void: written in boot {document['boot_id']!r:.40}, not in this one")


def _word(value: object) -> str | None:
    return None if value is None else str(value)
