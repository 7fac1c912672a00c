"""Delivers each notice once to the handler, however often and wherever the queue says it."""

import asyncio
import logging
from collections.abc import Callable

from watcher.errors import ActionRetryable
from watcher.metrics import Metrics
from watcher.notice import Moment
from watcher.relay.handlers import Handler, UnknownInstance
from watcher.sources.reading import ForInstance
from watcher.sources.remembered import Remembered

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Most handlers at work at the same time, so that a burst can't drown what they write to."""

HANDLER_LIMIT_S = 10.0
"""Longest that a handler is waited for, in seconds, before the try counts as failed."""

UNKNOWN_LIMIT_S = 60.0
"""Seconds for which an instance may be unknown: a node that joins has registered by then."""

RETRY_LIMIT_S = 60.0
"""Seconds for which a handler that fails is tried here; then the queue gives the message out
again, perhaps to a relay that fares better."""

_FIRST_DELAY_S = 0.1
_LONGEST_DELAY_S = 5.0


class Delivery:
    """Hands notices over, many at a time.

    Args:
        handler: Who gets them.
        metrics: Counts what became of them.
        now: Reads both clocks.
    """

    def __init__(self, handler: Handler, metrics: Metrics, now: Callable[[], Moment]) -> None:
        self._handler = handler
        self._metrics = metrics
        self._now = now
        self._done = Remembered(now)
        self._going: dict[str, asyncio.Future[bool]] = {}
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def deliver(self, told: ForInstance) -> bool:
        """Hand a notice over unless that has been done; tell whether the queue may forget it.

        Returns also True, after a minute, when no node is its instance.
        """
        name = told.notice.id
        if name in self._done:
            return True
        if name in self._going:
            return await asyncio.shield(self._going[name])
        going = self._going[name] = asyncio.get_running_loop().create_future()
        is_done = False
        try:
            is_done = await self._hand_over(told)
        finally:
            del self._going[name]
            going.set_result(is_done)
        return is_done

    async def _hand_over(self, told: ForInstance) -> bool:
        began_s = self._now().boottime_s
        delay_s = _FIRST_DELAY_S
        while True:
            verdict, why = await self._attempt(told)
            limit_s = UNKNOWN_LIMIT_S if verdict == "unknown_instance" else RETRY_LIMIT_S
            if verdict == "relayed" or self._now().boottime_s - began_s >= limit_s:
                break
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, _LONGEST_DELAY_S)
        self._metrics.notices.labels(told.notice.kind, verdict).inc()
        level = logging.INFO if verdict == "relayed" else logging.WARNING
        log.log(
            level, "notice %s %s instance_id=%s why=%s", verdict, told.notice, told.instance_id, why
        )
        if verdict == "undelivered":
            return False
        self._done.add(told.notice.id)
        return True

    async def _attempt(self, told: ForInstance) -> tuple[str, str]:
        """Return what a try has come to, and why."""
        try:
            async with self._turn, asyncio.timeout(HANDLER_LIMIT_S):
                await self._handler.handle(told)
        except UnknownInstance as error:
            return "unknown_instance", str(error)
        except (ActionRetryable, TimeoutError) as error:
            return "undelivered", str(error) or f"no answer within {HANDLER_LIMIT_S} s"
        return "relayed", "the handler has it"
