"""The scheduled events of an instance: which of them are news, and which are over.

A list is read over and over; an event is known by its id, and its time is believed when it is
first seen. A list that is read again soon tells a glitch from an end.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from watcher.notice import Notice
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
    later_id: str = ""
    later_looks: int = 0


class Schedule:
    """The events that have been announced and are not over; each method returns the news."""

    def __init__(self, standing: Iterable[Notice] = ()) -> None:
        self._events = {_event_id(notice): _Event(notice) for notice in standing}

    def seen(self, shown: Iterable[Notice]) -> list[Notice]:
        """Take in a list: new facts come first, then what they replace and what is over."""
        by_id = {_event_id(notice): notice for notice in shown}
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
        if not _is_news(notice, event):
            return []
        self._events[event_id] = _Event(notice)
        return [notice, withdrawal(event.notice, "replaced")]


def _is_news(notice: Notice, event: _Event) -> bool:
    """Tell a new fact from another look at the old one; an earlier start is one at once."""
    old = event.notice
    if notice.id == old.id or notice.deadline is None:
        event.later_looks = 0
        return False
    if old.deadline is None or notice.deadline.boottime_s < old.deadline.boottime_s:
        return True
    event.later_looks = event.later_looks + 1 if notice.id == event.later_id else 1
    event.later_id = notice.id
    return event.later_looks >= LOOKS_TO_POSTPONE


def _event_id(notice: Notice) -> str:
    """Return what an event keeps when it is rescheduled."""
    return notice.detail.get("EventId") or notice.action or ""
