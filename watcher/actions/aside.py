"""Has people and their programs told of notices, in its own time, and with nobody waiting for it.

What is to be told is queued, and told in order by :meth:`Aside.keep`. So the action itself is done
at once: neither another action, nor the next notice, nor an acknowledgement waits for a server that
hangs. The queue is bounded: where nothing gets through, the oldest news is dropped and counted.
"""

import asyncio
import logging
import random
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from watcher.actions.news import News
from watcher.errors import ActionError, ActionRetryable
from watcher.metrics import Metrics
from watcher.notice import Moment, Standing

log = logging.getLogger(__name__)

QUEUE_LIMIT = 64
"""Most news that waits to be told; a node hears of a few notices in its life."""

LEAST_TRY_S = 30.0
"""How long telling is tried at least, in seconds: also a withdrawal, and a deadline near or past,
are worth a few attempts."""

LONGEST_TRY_S = 600.0
"""How long it is tried at most, in seconds, however far the deadline is: what waits behind it may
be more urgent, and PagerDuty asks for "a backoff of a few minutes" when it is busy. Source:
PagerDuty developer documentation, Events API v2 overview (read 2026-11-30)."""

CHECK_LIMIT_S = 5.0
"""Longest that looking at what a teller needs may take, in seconds."""

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0

_LEVELS = {"told": logging.INFO, "refused": logging.ERROR, "given_up": logging.ERROR}


class Teller(Protocol):
    """Tells somebody; it bounds its own time."""

    where: str
    """Whom it tells, for the log; nothing secret is in it."""

    async def check(self) -> None:
        """Make sure, as far as that goes without telling anything, that it could tell.

        Raises:
            ActionError: It could not; the message says what is missing.
        """
        ...

    async def tell(self, news: News, /) -> str:
        """Tell it, and return in a few words what has come of it.

        Raises:
            ActionRetryable: It failed in a way that may pass.
            ActionRefused: It failed, and trying again can't help.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Queued:
    news: News
    until_s: float
    """Until when it is tried, on CLOCK_BOOTTIME."""


class Aside:
    """An action that only queues what a teller is to tell; see :class:`base.Action`.

    Each notice is told of once in force and once withdrawn, whatever corrections come between.

    Args:
        name: The action's, as in the policy.
        teller: Who tells it.
        metrics: What counts the news.
        now: Reads both clocks.
    """

    def __init__(
        self, name: str, teller: Teller, metrics: Metrics, now: Callable[[], Moment]
    ) -> None:
        self.name = name
        self._teller = teller
        self._metrics = metrics
        self._now = now
        self._queue: deque[_Queued] = deque()
        self._has_news = asyncio.Event()
        self._in_force: set[str] = set()

    async def run(self, standing: Standing, /) -> str:
        """Queue that the notice is in force."""
        if standing.notice.id in self._in_force:
            return "was queued before"
        self._in_force.add(standing.notice.id)
        return self._put(News(standing))

    async def undo(self, standing: Standing, /) -> str:
        """Queue that it was withdrawn, if anybody was to be told of it."""
        if standing.notice.id not in self._in_force:
            return "nobody was told of it"
        self._in_force.discard(standing.notice.id)
        return self._put(News(standing, is_withdrawal=True))

    async def keep(self) -> None:
        """Tell what is queued, one after the other; never returns.

        What would be in the way is logged at the start, when somebody still looks.
        """
        try:
            async with asyncio.timeout(CHECK_LIMIT_S):
                await self._teller.check()
        except (ActionError, TimeoutError) as error:
            log.warning("no news can be told action=%s why=%s", self.name, str(error) or "it hangs")
        while True:
            await self._has_news.wait()
            while self._queue:
                await self._tell(self._queue.popleft())
            self._has_news.clear()

    def _put(self, news: News) -> str:
        if len(self._queue) == QUEUE_LIMIT:
            self._note(self._queue.popleft().news, "dropped", "the queue is full", logging.ERROR)
        now_s = self._now().boottime_s
        left_s = 0.0 if news.is_withdrawal else news.standing.counts_until.boottime_s - now_s
        self._queue.append(_Queued(news, now_s + min(max(left_s, LEAST_TRY_S), LONGEST_TRY_S)))
        self._has_news.set()
        return f"queued for {self._teller.where}"

    async def _tell(self, queued: _Queued) -> None:
        """Try until it is told, or refused, or it is too late."""
        pause_s, level = FIRST_PAUSE_S, logging.WARNING
        while True:
            wait_s, outcome = 0.0, "told"
            try:
                what = await self._teller.tell(queued.news)
            except ActionRetryable as error:
                jittered_s = pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
                wait_s, what = max(jittered_s, error.after_s), str(error)
                is_late = self._now().boottime_s + wait_s > queued.until_s
                outcome = "given_up" if is_late else "retrying"
            except ActionError as error:
                outcome, what = "refused", str(error)
            except Exception as error:  # noqa: BLE001 - what is optional never ends the daemon
                outcome, what = "refused", _where(error)
            self._note(queued.news, outcome, what, _LEVELS.get(outcome, level))
            if outcome != "retrying":
                return
            await asyncio.sleep(wait_s)
            pause_s, level = min(2 * pause_s, LONGEST_PAUSE_S), logging.DEBUG

    def _note(self, news: News, outcome: str, what: str, level: int) -> None:
        self._metrics.news.labels(self.name, outcome).inc()
        where, notice = self._teller.where, news.standing.notice
        template = "news %s action=%s state=%s where=%s %s what=%s"
        log.log(level, template, outcome, self.name, news.state, where, notice, what)


def _where(error: Exception) -> str:
    """Say what kind of bug it is and where; its own words may hold something secret."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"a bug: {type(error).__name__} at {last.filename}:{last.lineno}"
