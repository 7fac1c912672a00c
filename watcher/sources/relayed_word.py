"""What the relay says to this node, kept as a level: in force is what the annotation holds now."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from watcher.errors import SourceMalformed
from watcher.kube.objects import Node
from watcher.notice import Moment, Notice
from watcher.sources.kubernetes_windows import OVER_AFTER_S
from watcher.sources.outlived import booted_since
from watcher.sources.relayed_notice import Relayed, Word, parse
from watcher.sources.told import Told

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at the annotation has come to."""

    news: list[Notice]
    odd: str
    """Why it is unknown what else the relay says; empty where all of it was read."""


class RelayedWord:
    """The relay's notices to this node.

    Args:
        boot_id: This boot's.
        adopted: Notices that an earlier run of the daemon has left in force.
    """

    def __init__(self, boot_id: str, adopted: Iterable[Notice] = ()) -> None:
        self._boot_id = boot_id
        self._told = Told(adopted)
        self._void: set[str] = set()

    def __len__(self) -> int:
        return len(self._told)

    def look(self, text: str | None, node: Node, now: Moment, *, is_live: bool) -> Look:
        """Take in the annotation, None where there is none.

        Args:
            text: The annotation.
            node: The Node that it is on.
            now: When it came.
            is_live: Whether it came as a change that was being made, so that it is not old, however
                wrong the clock.
        """
        outlived = self._told.outlived(lambda notice: _is_outlived(notice, now))
        self._void.update(notice.id for notice in outlived)
        try:
            word = Word(()) if text is None else parse(text, node, now)
        except SourceMalformed as error:
            return Look(outlived, str(error))
        wanted = [
            one.told.notice for one in word.notices if self._is_in_force(one, now, is_live=is_live)
        ]
        if word.odd:
            # What can't be read may be one of those that are missing.
            news = [heard for notice in wanted for heard in self._told.heard(notice)]
        else:
            self._void &= {one.told.notice.id for one in word.notices}
            news = self._told.exactly(wanted)
        return Look([*outlived, *news], word.odd)

    def _is_in_force(self, one: Relayed, now: Moment, *, is_live: bool) -> bool:
        notice = one.told.notice
        if notice.id in self._void or notice.id in self._told:
            return notice.id in self._told
        if one.is_of_earlier_boot(self._boot_id, now):
            why = f"said to boot {one.boot_id:.40}, before this one began"
        elif began := booted_since(one.told, now):
            why = f"the machine was booted since, at {began.isoformat()}"
        elif not is_live and one.is_long_over(now.wall):
            why = "the node has outlived it"
        else:
            return True
        self._void.add(notice.id)
        log.info("notice void %s why=%s", notice, why)
        return False


def _is_outlived(notice: Notice, now: Moment) -> bool:
    after_s = OVER_AFTER_S.get(notice.kind)
    # A deadline that was over when it was heard is a wrong clock's; it stands as long as any other.
    ends_s = [end.boottime_s for end in (notice.deadline, notice.received) if end is not None]
    return after_s is not None and now.boottime_s > max(ends_s) + after_s
