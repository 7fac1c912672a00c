"""Drills that were asked for: exercises that trainers take for a notice, and nobody else.

One at a time, and never beside a real notice. It is over when all trainers have saved, when its
time is up, when root says so, when a real notice comes, and when the daemon ends: none is adopted.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from watcher.actions.all_saved import AllSaved
from watcher.actions.trainer_look import TrainerLook
from watcher.health import SourceHealth
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.drill_config import READERS, DrillConfig
from watcher.sources.drill_socket import Answer, DrillSocket
from watcher.sources.level import withdrawal
from watcher.sources.road import Kinds, Opened, Road, Site
from watcher.state import State

log = logging.getLogger(__name__)

NAME = "drill"
KEY = "socket"

LONGEST_S = 3600.0
"""Longest window of a drill, in seconds: trainers that hang in one stand still for as long."""

LOOK_EVERY_S = 0.5

_NOTHING = Opened(sources=())


class Drills:
    """The drill in force, if there is one; see :class:`watcher.sources.base.Source`.

    Args:
        health: Where it is noted, on its one key, that somebody could ask.
        state: What is in force, drills and all else.
        saved: Tells when all trainers have saved.
        now: Reads both clocks.
    """

    kinds = frozenset({NoticeKind.DRILL})

    def __init__(
        self, health: SourceHealth, state: State, saved: AllSaved, now: Callable[[], Moment]
    ) -> None:
        self.health = health
        self.name = health.source
        (self._key,) = health.keys
        self._state = state
        self._saved = saved
        self._now = now
        self._standing: Notice | None = None
        self._news: asyncio.Queue[Notice] = asyncio.Queue()

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield a drill when it begins, and when it is over."""
        while True:
            what = "present" if self._standing else "absent"
            if self.health.answered(self._key, what, self._now(), took_s=None):
                log.info("source answers source=%s key=%s answer=%s", self.name, self._key, what)
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    news = await self._news.get()
            except TimeoutError:
                self._look()
            else:
                yield news

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: it is over when its trainers have saved."""

    async def answer(self, asked: Mapping[str, object]) -> Answer:
        """Return what is said to a question.

        Raises:
            ValueError: It is refused, and why.
        """
        match asked:
            case {"ask": "drill"}:
                await self._saved.reached()  # it notes who is at work: some stop within a moment
                notice = self.begin(asked.get("window_s", 120))
                return {"begun": notice.id}
            case {"ask": "clear"}:
                return {"cleared": self.end("cleared")}
        raise ValueError("the question is {'ask': 'drill', 'window_s': S} or {'ask': 'clear'}")

    def begin(self, window_s: object) -> Notice:
        """Put a drill in force that ends after so many seconds.

        Raises:
            ValueError: It is refused, and why.
        """
        is_number = isinstance(window_s, int | float) and not isinstance(window_s, bool)
        if not is_number or not 0 < float(window_s) <= LONGEST_S:  # type: ignore[arg-type]  # is one
            raise ValueError(f"window_s is a number of seconds up to {LONGEST_S:g}")
        if self._standing is not None or self._has_another():
            raise ValueError("a drill is in force already")
        if self._is_real():
            raise ValueError("a notice is in force, and no exercise")
        now = self._now()
        notice = Notice(
            id=f"drill-{uuid.uuid4().hex[:16]}",
            kind=NoticeKind.DRILL,
            source=self.name,
            received=now,
            deadline=Deadline.after(now, float(window_s)),  # type: ignore[arg-type]  # see above
        )
        self._standing = notice
        self._news.put_nowait(notice)
        return notice

    def end(self, outcome: str) -> bool:
        """Take the drill back, and tell whether there was one."""
        standing, self._standing = self._standing, None
        if standing is not None:
            self._news.put_nowait(withdrawal(standing, outcome))
        return standing is not None

    async def keep(self) -> None:
        """Take the drill back when all trainers have saved, until cancelled."""
        await self._saved.keep_telling(lambda: self._standing is not None, self._end_of_all_saved)

    def _end_of_all_saved(self) -> None:
        self.end("over")

    def _look(self) -> None:
        if self._standing is None or self._standing.deadline is None:
            return
        if self._is_real():
            self.end("replaced")
        elif self._standing.deadline.left_s(self._now()) <= 0:
            self.end("over")

    def _has_another(self) -> bool:
        """Tell whether a drill is in force, be it another road's."""
        return any(one.notice.kind is NoticeKind.DRILL for one in self._state.in_force())

    def _is_real(self) -> bool:
        """Tell whether anything but a drill is in force."""
        return any(one.notice.kind is not NoticeKind.DRILL for one in self._state.in_force())


def wanted(_config: DrillConfig) -> Kinds:
    """Return nothing: a node that hears drills alone hears nothing, and no restart keeps one."""
    return {}


def is_asked_for(config: DrillConfig) -> bool:
    """Tell whether root may ask."""
    return config.socket is not None


@asynccontextmanager
async def opened(config: DrillConfig, site: Site) -> AsyncIterator[Opened]:
    """Let root ask until the end of the block."""
    if config.socket is None:
        yield _NOTHING
        return
    health = site.health(NAME, (KEY,), is_required=False)
    saved = AllSaved(TrainerLook(site.run_dir, site.boot_id), site.now)
    drills = Drills(health, site.state, saved, site.now)
    async with DrillSocket(drills.answer).listening(config.socket) as is_listening:
        yield Opened(sources=(drills,), keepers=(drills.keep,)) if is_listening else _NOTHING


ROAD = Road(
    section=NAME,
    cloud=None,
    settings=DrillConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    protects=is_asked_for,
)
