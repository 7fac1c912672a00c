"""When what a queue has said is over: nobody takes it back; the node has to outlive it by far."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from watcher.notice import Moment, Notice, NoticeKind
from watcher.sources.level import withdrawal
from watcher.sources.reading import ForInstance


class Outlived:
    """Keeps a queue's notices until the node has outlived them.

    Args:
        adopted: Notices that an earlier run of the daemon has left in force.
        over_after_s: By kind, how many seconds after its deadline, or after the receipt of what
            has none, a notice is over; one of a kind that is not there ends with the node.
    """

    def __init__(
        self,
        adopted: Sequence[Notice],
        over_after_s: Mapping[NoticeKind, float],
    ) -> None:
        self._notices = {notice.id: notice for notice in adopted}
        self._over_after_s = over_after_s

    def add(self, notice: Notice) -> None:
        """Keep a notice that is in force from now on."""
        self._notices[notice.id] = notice

    def __contains__(self, notice_id: str) -> bool:
        return notice_id in self._notices

    def since(self, now: Moment) -> list[Notice]:
        """Return the withdrawals of those that are over by now, and forget them."""
        over = [notice for notice in self._notices.values() if self._is_over(notice, now)]
        for notice in over:
            del self._notices[notice.id]
        return [withdrawal(notice, "survived") for notice in over]

    def _is_over(self, notice: Notice, now: Moment) -> bool:
        after_s = self._over_after_s.get(notice.kind)
        end = notice.deadline or notice.received
        return after_s is not None and now.boottime_s > end.boottime_s + after_s


def booted_since(told: ForInstance, now: Moment) -> datetime | None:
    """Return when this boot began, if that shows that what was told is over; else None.

    By the wall clock: one that is ahead by more than the node's age ignores the end of a node which
    has no time left anyway.
    """
    began = now.wall - timedelta(seconds=now.boottime_s)
    is_over = told.over_if_booted_after is not None and told.over_if_booted_after < began
    return began if is_over else None
