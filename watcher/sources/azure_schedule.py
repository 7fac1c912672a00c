"""The events that Azure has announced for this machine: which are news, and which are over.

No event is ever marked as completed or canceled: it disappears, and which of the two it was can't
be told. Both mean that nothing stands between the trainers and their work any more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from watcher.notice import Moment, Notice
from watcher.sources.azure_document import Document
from watcher.sources.level import GRACE_S, withdrawal

LOOKS_TO_WITHDRAW = 5
"""Consecutive documents without an event before it is over; at one look a second, five seconds in
which a server that has lost its memory may find it again."""


@dataclass(slots=True)
class _Announced:
    notice: Notice
    incarnation: int | None = None
    """Of the last document that had it; None where that is not known."""
    absences: int = 0


class Schedule:
    """The events that are not over; each method returns the news.

    The first sighting counts: its id and its deadline stay, unless a later one is nearer, as when
    an event starts before its time. A time that is put off is not believed.
    """

    def __init__(self, standing: Iterable[Notice] = ()) -> None:
        self._announced = {notice.id: _Announced(notice) for notice in standing}

    def seen(self, document: Document, now: Moment) -> list[Notice]:
        """Take in a document: new facts come first, then what is over."""
        shown: dict[str, Notice] = {}
        for notice in sorted((event.notice for event in document.events), key=_lateness):
            shown.setdefault(notice.id, notice)
        news = [told for one in shown.values() for told in self._present(one, document.incarnation)]
        for missing in self._announced.keys() - shown.keys():
            news += self._absent(missing, document, now)
        return news

    def unknown(self) -> None:
        """Take in a failed fetch: it ends nothing and breaks every run of absences."""
        for known in self._announced.values():
            known.absences = 0

    def _present(self, notice: Notice, incarnation: int | None) -> list[Notice]:
        known = self._announced.get(notice.id)
        if known is None:
            self._announced[notice.id] = _Announced(notice, incarnation)
            return [notice]
        known.absences, known.incarnation = 0, incarnation
        old = known.notice.deadline
        if notice.deadline is None or (old is not None and not notice.deadline.corrects(old)):
            return []
        known.notice = notice
        return [notice]

    def _absent(self, notice_id: str, document: Document, now: Moment) -> list[Notice]:
        known = self._announced[notice_id]
        if not document.is_whole:
            known.absences = 0
            return []
        known.absences += 1
        if known.absences < LOOKS_TO_WITHDRAW or not _may_be_over(known, document, now):
            return []
        del self._announced[notice_id]
        return [withdrawal(known.notice, "over")]


def _may_be_over(known: _Announced, document: Document, now: Moment) -> bool:
    """Tell whether the absence is the cloud's word; one that contradicts itself needs more time.

    The incarnation rises when an event goes. One that has not is a mistake of the server's, or of
    one that only imitates Azure's: long after the event's time that makes no difference any more.
    """
    if None in (known.incarnation, document.incarnation):
        return True
    if known.incarnation != document.incarnation:
        return True
    until = known.notice.deadline or known.notice.received
    return now.boottime_s >= until.boottime_s + GRACE_S


def _lateness(notice: Notice) -> float:
    """Return a sort key by deadline; an event without one comes last."""
    return notice.deadline.boottime_s if notice.deadline else inf
