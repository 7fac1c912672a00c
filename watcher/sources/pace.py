"""When a key is fetched next: on a grid that does not drift, slower only under throttling.

A key whose last fetch has failed is unknown, and is never left so for longer than SLOWEST_S.
"""

import random
from collections.abc import Callable

SLOWEST_S = 5.0
"""Longest gap after a failed fetch, in seconds, throttled or not: what AWS itself recommends as
the poll interval. Source: EC2 user guide, Spot interruption notices (read 2026-11-30)."""


class Pace:
    """The fetch times of one key, in seconds on the loop's clock.

    They lie on a grid of ``every_s`` from the first one on, however long an answer takes. An
    answer that takes longer than that makes one fetch late; it never queues a second one.
    What has to be fetched only once has a grid that never ends: ``every_s`` is infinite.
    """

    def __init__(self, every_s: float, jitter: Callable[[], float] = random.random) -> None:
        self._every_s = every_s
        self._jitter = jitter
        self._start: float | None = None
        self._ticks = 0
        self._throttles = 0
        self._due_at = 0.0

    @property
    def due_at(self) -> float:
        """When to fetch next; at once before the first fetch."""
        return self._due_at

    def fetched(self, now: float) -> None:
        """Note that a fetch has ended with a usable answer."""
        self._throttles = 0
        if self._start is None:
            self._start = now
        self._ticks = max(self._ticks + 1, int((now - self._start) / self._every_s))
        self._due_at = self._start + self._ticks * self._every_s

    def failed(self, now: float) -> None:
        """Note that a fetch has ended without one, for another reason than throttling."""
        if self._every_s <= SLOWEST_S:
            self.fetched(now)
        else:
            self.hurry()
            self._due_at = now + SLOWEST_S

    def hurry(self) -> None:
        """Make the next fetch due at once, and begin a new grid with it."""
        self._start = None
        self._ticks = 0
        self._due_at = 0.0

    def throttled(self, now: float) -> None:
        """Note that the server asked for fewer requests: wait longer each time, with jitter.

        Jitter spreads the nodes that one outage has synchronised.
        """
        self._start = None  # a grid that was left is not caught up with
        self._ticks = 0
        self._throttles += 1
        wait_s = 2.0**self._throttles * (0.5 + 0.5 * self._jitter())
        self._due_at = now + min(max(wait_s, self._every_s), SLOWEST_S)
