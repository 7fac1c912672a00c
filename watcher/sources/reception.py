"""Receives from a queue at its own pace, and says when it is blind."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Protocol

from watcher.custody import Message
from watcher.errors import CloudCallFailed, SourceThrottled, SourceUnavailable
from watcher.health import SourceHealth
from watcher.notice import Moment

log = logging.getLogger(__name__)

KEY = "messages"
KEYS = (KEY,)

_QUIET_S = 1.0
"""Least time between two answers without a message, whatever answers in the queue's place."""

_LONGEST_PAUSE_S = 5.0


class Receivable(Protocol):
    """A cloud's queue, as far as receiving is concerned."""

    async def receive(self, *, wait_s: int, visibility_s: int) -> list[Message]:
        """Return some messages, hidden for ``visibility_s`` seconds or as long as the queue says.

        Waits at the cloud for the first one: up to ``wait_s`` seconds or, unless that is 0, as long
        as the queue says.

        Raises:
            CloudCallFailed: It is unknown whether there are messages.
        """
        ...


class Reception:
    """One reader of a queue.

    Args:
        queue: The queue.
        wait_s: How long a receive waits at the cloud for a first message, in seconds.
        health: Where usable answers are noted, under ``messages``.
        now: Reads both clocks.
    """

    def __init__(
        self, queue: Receivable, wait_s: int, health: SourceHealth, now: Callable[[], Moment]
    ) -> None:
        self._queue = queue
        self._wait_s = wait_s
        self._health = health
        self._now = now
        self._clock = asyncio.get_running_loop().time
        self._pause_s = 0.0

    async def receive(
        self, *, visibility_s: int, only_if: Callable[[], object] = lambda: None
    ) -> list[Message]:
        """Return up to ten messages, hidden for ``visibility_s`` seconds; waits for the first.

        ``only_if`` is called first and may raise SourceUnavailable, so that none is taken.

        Raises:
            SourceUnavailable: It is unknown whether there are any. The next call waits first,
                longer each time, up to 5 s.
        """
        await asyncio.sleep(self._pause_s)
        # The first answer after a failure is wanted soon, to know that the queue is there again.
        wait_s = 0 if self._health.blind_since() else self._wait_s
        began = self._clock()
        try:
            only_if()
            messages = await self._queue.receive(wait_s=wait_s, visibility_s=visibility_s)
        except CloudCallFailed as error:
            is_throttled = error.outcome == "throttled"
            kind = SourceThrottled if is_throttled else SourceUnavailable
            raise self._blind(kind(str(error), outcome=error.outcome)) from error
        except SourceUnavailable as error:
            raise self._blind(error) from error.__cause__
        took_s = self._clock() - began
        has_not_waited = wait_s > 0 and took_s < _QUIET_S
        self._pause_s = _QUIET_S if not messages and has_not_waited else 0.0
        what = "present" if messages else "absent"
        if self._health.answered(KEY, what, self._now(), took_s=took_s):
            log.info("source answers source=%s key=%s answer=%s", self._health.source, KEY, what)
        return messages

    def _blind(self, error: SourceUnavailable) -> SourceUnavailable:
        """Return the error as one of the queue's, and let the next receive wait."""
        error.key = KEY
        longer_s = min(max(2 * self._pause_s, _QUIET_S), _LONGEST_PAUSE_S)
        # Jitter spreads the nodes that one outage has synchronised.
        self._pause_s = longer_s * (0.5 + 0.5 * random.random())  # noqa: S311 - no secret
        return error
