"""The notices that a source has been told and that were not taken back, where each is said once.

Unlike a metadata key such a source does not show what is in force: it has to be kept in mind, also
over a restart.
"""

from collections.abc import Callable, Iterable

from watcher.errors import SourceMalformed
from watcher.notice import Notice
from watcher.sources.level import withdrawal

LIMIT = 64
"""Notices that one source can have in force at the same time."""


class Told:
    """What is in force by one source's word; each method returns the news.

    Args:
        standing: Notices that an earlier run of the daemon has left in force.
    """

    def __init__(self, standing: Iterable[Notice] = ()) -> None:
        self._standing = {notice.id: notice for notice in standing}

    def __len__(self) -> int:
        return len(self._standing)

    def heard(self, seen: Notice) -> list[Notice]:
        """Take in a notice, or that one is taken back.

        Raises:
            SourceMalformed: There are LIMIT of them already.
        """
        known = self._standing.get(seen.id)
        if seen.withdrawn:
            return self._over([known], "over") if known else []
        if known is None and len(self) >= LIMIT:
            raise SourceMalformed(f"more than {LIMIT} notices in force; {seen.id} is not heard")
        if known is not None and not _is_news(seen, known):
            return []
        self._standing[seen.id] = seen
        return [seen]

    def only(self, seen: Notice) -> list[Notice]:
        """Take in that this notice is in force and no other is."""
        others = [known for known in self._standing.values() if known.id != seen.id]
        return [*self.heard(seen), *self._over(others, "replaced")]

    def exactly(self, seen: Iterable[Notice]) -> list[Notice]:
        """Take in that these notices are in force and no others are."""
        every = {notice.id: notice for notice in seen}
        others = [known for known in self._standing.values() if known.id not in every]
        news = [heard for notice in every.values() for heard in self.heard(notice)]
        return [*news, *self._over(others, "over")]

    def outlived(self, is_over: Callable[[Notice], bool]) -> list[Notice]:
        """Take in that the node has outlived those notices of which that holds."""
        known = [notice for notice in self._standing.values() if is_over(notice)]
        return self._over(known, "survived")

    def __contains__(self, notice_id: str) -> bool:
        return notice_id in self._standing

    def none(self) -> list[Notice]:
        """Take in that no notice is in force."""
        return self._over(list(self._standing.values()), "over")

    def _over(self, known: list[Notice], outcome: str) -> list[Notice]:
        for notice in known:
            del self._standing[notice.id]
        return [withdrawal(notice, outcome) for notice in known]


def _is_news(seen: Notice, known: Notice) -> bool:
    """Tell whether it is said again because its deadline is nearer than it was."""
    if seen.deadline is None or known.deadline is None:
        return seen.deadline is not known.deadline and known.deadline is None
    return seen.deadline.corrects(known.deadline)
