"""When something is asked that is asked rarely: minutes apart, because a fleet shares one quota."""

import random
from collections.abc import Callable, Collection

FIRST_PAUSE_S = 5.0
"""Seconds, at most, before the first try after a failure; each further one takes twice as long."""


class Rarely:
    """The times of one question, in seconds on the loop's clock.

    Args:
        every_s: From one question that was answered to the next.
        lasting: Outcomes of failures that pass only when a person has done something, so there is
            no hurry to ask again.
        jitter: Spreads the askers that one outage has synchronised.
    """

    def __init__(
        self,
        every_s: float,
        lasting: Collection[str],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._every_s = every_s
        self._lasting = lasting
        self._jitter = jitter
        self.due_at = 0.0
        """When to ask next; at once before the first time."""
        self.pause_s = 0.0
        """How long the pause after the last failure is at most; 0 when there was none."""

    def answered(self, began: float) -> None:
        """Note that the question asked at ``began`` was answered."""
        self.pause_s = 0.0
        self.due_at = began + self._every_s

    def failed(self, now: float, outcome: str) -> None:
        """Note that it was not: wait longer each time, and at once for long where that lasts."""
        longer_s = min(max(2 * self.pause_s, FIRST_PAUSE_S), self._every_s)
        self.pause_s = self._every_s if outcome in self._lasting else longer_s
        self.due_at = now + self.pause_s * (0.5 + 0.5 * self._jitter())
