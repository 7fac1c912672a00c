"""The scheduled events of an instance: which of them are news, and which are over.

A list is read over and over; an event is known by its id, and its time is believed when it is
first seen, unless a corrected clock brings it nearer. A list that is read again soon tells a glitch
from an end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf

from watcher.notice import Notice
from watcher.sources.aws_times import any_instant
from watcher.sources.level import withdrawal

LOOKS_TO_WITHDRAW = 2
"""Consecutive lists without an event before it is over: completed, canceled, or gone."""

LOOKS_TO_POSTPONE = 3
"""Consecutive lists that show the same later start before it is believed: one that is computed
anew for every answer never is, and a rescheduled one is believed in two minutes."""


@dataclass(slots=True)
class _Event:
    notice: Notice
    absences: int = 0
    later_start: datetime | None = None
    later_looks: int = 0


class Schedule:
    """The events that have been announced and are not over; each method returns the news."""

    def __init__(self, standing: Iterable[Notice] = ()) -> None:
        self._events = {_event_id(notice): _Event(notice) for notice in standing}

    def seen(self, shown: Iterable[Notice]) -> list[Notice]:
        """Take in a list: new facts come first, then what they replace and what is over."""
        by_id: dict[str, Notice] = {}
        for notice in sorted(shown, key=_lateness):
            by_id.setdefault(_event_id(notice), notice)
        news = [told for notice in by_id.values() for told in self._present(notice)]
        for event_id in self._events.keys() - by_id.keys():
            event = self._events[event_id]
            event.absences += 1
            if event.absences >= LOOKS_TO_WITHDRAW:
                del self._events[event_id]
                news.append(withdrawal(event.notice, "over"))
        return news

    def unknown(self) -> None:
        """Take in a failed fetch: it ends nothing and breaks every run of equal answers."""
        for event in self._events.values():
            event.absences = event.later_looks = 0

    def _present(self, notice: Notice) -> list[Notice]:
        event_id = _event_id(notice)
        event = self._events.get(event_id)
        if event is None:
            self._events[event_id] = _Event(notice)
            return [notice]
        event.absences = 0
        if _start(notice) == _start(event.notice):
            event.later_looks = 0
            return _corrected(event, notice)
        if not _is_news(notice, event):
            return []
        self._events[event_id] = _Event(notice)
        return [notice, withdrawal(event.notice, "replaced")]


def _corrected(event: _Event, notice: Notice) -> list[Notice]:
    """Take in another look at the same start; the first one's id stays whatever is learnt later.

    It is news only where the wall clock was wrong when the start was first seen.
    """
    old = event.notice
    if not notice.deadline or not old.deadline or not notice.deadline.corrects(old.deadline):
        return []
    event.notice = replace(notice, id=old.id)
    return [event.notice]


def _is_news(notice: Notice, event: _Event) -> bool:
    """Tell whether another start is believed; an earlier one is at once."""
    old = event.notice
    if notice.deadline is None:
        event.later_looks = 0
        return False
    if old.deadline is None or notice.deadline.boottime_s < old.deadline.boottime_s:
        return True
    start = _start(notice)
    event.later_looks = event.later_looks + 1 if start == event.later_start else 1
    event.later_start = start
    return event.later_looks >= LOOKS_TO_POSTPONE


def _event_id(notice: Notice) -> str:
    """Return what an event keeps when it is rescheduled; without an id its start is part of it."""
    return notice.detail.get("EventId") or f"{notice.action} {_start(notice)}"


def _start(notice: Notice) -> datetime | None:
    """Return the start as stated, which neither our clock nor what we know of us changes."""
    return any_instant(notice.detail.get("NotBefore"))


def _lateness(notice: Notice) -> float:
    """Return a sort key by start; one that can't be read comes last."""
    return notice.deadline.boottime_s if notice.deadline else inf
