"""When what a queue has said is over: nobody takes it back; the node has to outlive it by far."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from watcher.notice import Moment, Notice, NoticeKind

OVER_AFTER_S: Mapping[NoticeKind, float] = MappingProxyType(
    {
        # As for the metadata key of the same name, which may go while the cloud still acts.
        NoticeKind.PREEMPTION: 300.0,
        # The instances of a reservation are ended one after the other, up to its end, which comes
        # 30 min after the deadline, or 60 in an UltraServer.
        NoticeKind.CAPACITY_END: 2 * 3600.0,
        # Advice without a deadline; the interruption it warns of comes within minutes or not at
        # all.
        NoticeKind.REBALANCE: 3600.0,
    }
)
"""Seconds after the deadline, or after the receipt of what has none, at which a notice is over.

A kind that is not here ends with the node: work on a host and terminations may be late by days, and
their end is told by the metadata service.
"""


class Outlived:
    """Keeps a queue's notices until the node has outlived them."""

    def __init__(self, adopted: Sequence[Notice]) -> None:
        self._notices = {notice.id: notice for notice in adopted}

    def add(self, notice: Notice) -> None:
        """Keep a notice that is in force from now on."""
        self._notices[notice.id] = notice

    def since(self, now: Moment) -> list[Notice]:
        """Return the withdrawals of those that are over by now, and forget them."""
        over = [notice for notice in self._notices.values() if _is_over(notice, now)]
        for notice in over:
            del self._notices[notice.id]
        return [replace(notice, withdrawn=True, outcome="survived") for notice in over]


def _is_over(notice: Notice, now: Moment) -> bool:
    after_s = OVER_AFTER_S.get(notice.kind)
    end = notice.deadline or notice.received
    return after_s is not None and now.boottime_s > end.boottime_s + after_s
