"""One metadata key that shows a notice for as long as it is in force: a level, not an edge.

A level is read over and over, so this is where repeated sightings become one notice with one
deadline, and where a notice is withdrawn: late, and only on good evidence.
"""

from dataclasses import replace

from watcher.notice import Moment, Notice

ABSENCES_TO_WITHDRAW = 10
"""Consecutive "not there" answers before a notice can be withdrawn; one may be a glitch."""

GRACE_S = 300.0
"""Seconds after the deadline before a notice can be withdrawn: the key may go while the cloud
still carries out what it said."""


class Level:
    """The notice that one key has last shown, if it is still in force.

    The first sighting counts: its id and its deadline stay while the same fact is shown. Each
    method returns the news, which is empty most of the time.
    """

    def __init__(self, standing: Notice | None = None) -> None:
        self._standing = standing
        self._absences = 0

    def present(self, seen: Notice) -> list[Notice]:
        """Take in a sighting; a newer fact comes first, then the withdrawal of the older one."""
        self._absences = 0
        old = self._standing
        if old is not None and not _is_news(seen, old):
            return []
        self._standing = seen
        return [seen] if old is None else [seen, withdrawal(old, "replaced")]

    def absent(self, now: Moment) -> list[Notice]:
        """Take in the cloud's own word that the key is not there."""
        self._absences += 1
        old = self._standing
        if old is None or self._absences < ABSENCES_TO_WITHDRAW:
            return []
        over = old.deadline.boottime_s if old.deadline else old.received.boottime_s
        if now.boottime_s < over + GRACE_S:
            return []
        self._standing = None
        return [withdrawal(old, "survived" if old.deadline else "over")]

    def over(self) -> list[Notice]:
        """Take in the cloud's own word that what it had said is no longer so."""
        self._absences = 0
        old, self._standing = self._standing, None
        return [] if old is None else [withdrawal(old, "over")]

    def unknown(self) -> None:
        """Take in a failed fetch: it withdraws nothing and breaks a run of absences."""
        self._absences = 0


def withdrawal(notice: Notice, outcome: str) -> Notice:
    """Return what takes the notice back, and says what has become of it."""
    return replace(notice, withdrawn=True, outcome=outcome)


def _is_news(seen: Notice, old: Notice) -> bool:
    """Tell a new fact from another look at the old one.

    Words that differ are not enough: a metadata server may restate a later time at every look.
    A later time is news only when the node has clearly outlived the old one.
    """
    if seen.id == old.id:
        return False  # another reading of words that name the same fact
    if seen.action != old.action:
        return True
    if seen.detail == old.detail or seen.deadline is None or old.deadline is None:
        return False
    is_outlived = seen.received.boottime_s > old.deadline.boottime_s + GRACE_S
    return is_outlived or seen.deadline.boottime_s < old.deadline.boottime_s
