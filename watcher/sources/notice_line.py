"""A notice as one line of JSON, as another program tells it. Pure.

A line that makes sense as a whole is a notice, also where a detail of it can't be read, which its
detail ``malformed`` then names. A line that takes a notice back has to be understood in full.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import detail, notice_id, object_with, shown, word

KINDS = frozenset(NoticeKind) - {NoticeKind.DRILL, NoticeKind.NODE_REQUEST}
"""What a program can tell of: no exercise, and nothing that is a trainer's to ask for."""

FIELDS = ("id", "kind", "deadline", "window_s", "action", "instance_id", "detail", "withdrawn")
"""Every field that is understood, one of which has to be there; others are ignored."""

LONGEST_S = 31 * 86_400.0
"""Furthest ahead that a deadline is believed, in seconds; no cloud is known to state it earlier."""

_WORDS_LIMIT = 16
_WORD_LIMIT_CHARS = 256
"""Longer than any cloud's id; an OCID has about a hundred characters."""


@dataclass(frozen=True, slots=True)
class Unsaid:
    """What counts where a line does not say it.

    Attributes:
        source: Who hears it; a line can't choose that.
        kind: One of KINDS.
        window_s: Seconds from hearing it to its deadline; None for the policy's default.
    """

    source: str
    kind: NoticeKind
    window_s: float | None = None


def parse_line(line: bytes, seen: Moment, unsaid: Unsaid) -> Notice:
    """Return the notice in a line, ``withdrawn`` where the line takes it back.

    Raises:
        SourceMalformed: It is no notice, or one that a program may not tell.
    """
    data = object_with(FIELDS, line, "line")
    odd: list[str] = []
    kind = _kind(data, unsaid, odd)
    told = _word("id", data, odd)
    withdrawn = data.get("withdrawn", False)
    if not isinstance(withdrawn, bool) or (withdrawn and odd):
        why = ", ".join(odd) or shown("withdrawn", data)
        raise SourceMalformed(f"line: it is not clear what it takes back: {why}")
    return Notice(
        id=notice_id(unsaid.source, told or kind),
        kind=kind,
        source=unsaid.source,
        received=seen,
        deadline=_deadline(data, seen, unsaid, odd),
        action=_word("action", data, odd),
        instance_id=_word("instance_id", data, odd),
        detail=_detail(data, odd),
        withdrawn=withdrawn,
    )


def bare(seen: Moment, unsaid: Unsaid, malformed: str = "") -> Notice:
    """Return the notice of one who says that there is one, and nothing that can be read besides."""
    return Notice(
        id=notice_id(unsaid.source, unsaid.kind),
        kind=unsaid.kind,
        source=unsaid.source,
        received=seen,
        deadline=_deadline({}, seen, unsaid, []),
        detail=detail({}, [malformed] if malformed else []),
    )


def _kind(data: Mapping[str, object], unsaid: Unsaid, odd: list[str]) -> NoticeKind:
    said = data.get("kind")
    if said is None:
        return unsaid.kind
    if isinstance(said, str) and said in KINDS:
        return NoticeKind(said)
    if isinstance(said, str) and said in frozenset(NoticeKind):
        raise SourceMalformed(f"line: a program can't tell of a {said}")
    odd.append(shown("kind", data))
    return unsaid.kind


def _word(name: str, data: Mapping[str, object], odd: list[str]) -> str | None:
    said = word(data.get(name), _WORD_LIMIT_CHARS)
    if said == "" or (said is None and data.get(name) is not None):
        odd.append(shown(name, data))
    return said or None


def _deadline(
    data: Mapping[str, object], seen: Moment, unsaid: Unsaid, odd: list[str]
) -> Deadline | None:
    """Return the earlier of the instant and the window that are told, else the one that is set."""
    found = []
    if data.get("deadline") is not None:
        wall = rfc3339_instant(data["deadline"])
        if wall is None:
            odd.append(shown("deadline", data))
        else:
            found.append(Deadline.stated(wall, seen=seen, longest_s=LONGEST_S))
    if data.get("window_s") is not None:
        window_s = _seconds(data["window_s"])
        if window_s is None:
            odd.append(shown("window_s", data))
        else:
            found.append(Deadline.after(seen, window_s))
    if not found and unsaid.window_s is not None:
        found.append(Deadline.after(seen, unsaid.window_s))
    return min(found, key=lambda deadline: deadline.boottime_s, default=None)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LONGEST_S else None


def _detail(data: Mapping[str, object], odd: list[str]) -> dict[str, str]:
    said = data.get("detail")
    if said is not None and not isinstance(said, dict):
        odd.append(shown("detail", data))
        said = None
    words = {
        name[:_WORD_LIMIT_CHARS]: value if isinstance(value, str) else json.dumps(value)
        for name, value in list((said or {}).items())[:_WORDS_LIMIT]
        if isinstance(value, str | int | float)
    }
    return detail({name: word(value, _WORD_LIMIT_CHARS) for name, value in words.items()}, odd)
