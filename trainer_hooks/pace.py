"""How long a step takes, for whoever asks how long it will be to the next boundary."""

import time
from collections.abc import Callable

FORGETS = 0.02
"""The part of a slow step that each later one takes away: after 100 steps an eighth is left. So
an evaluation counts for some of the steps that follow it, and a compilation not for ever."""


STILL_S = 5.0
"""So long a thread that looks up every second may be kept waiting; beyond that the process stood
still: it was stopped, or its machine was. What it does next is no slower for it."""


class Pace:
    """The slow steps of late. The training thread counts, any thread may ask.

    Args:
        now_s: The clock, in seconds.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._slow_s: float | None = None
        self._began: float | None = None
        self._alive: tuple[float, float] | None = None
        """When this process was last seen alive, and how long it had stood still until then."""

    def note_alive(self) -> None:
        """Note that this process runs. One thread calls it, every second."""
        now_s = self._now_s()
        self._alive = now_s, now_s - self._awake_s(now_s)

    def begin(self) -> None:
        """Note that a step begins."""
        self._began = self._awake_s(self._now_s())

    def end(self) -> None:
        """Note that it has ended."""
        if self._began is not None:
            took_s = self._awake_s(self._now_s()) - self._began
            slow_s = took_s if self._slow_s is None else self._slow_s
            self._slow_s = max(took_s, slow_s + FORGETS * (took_s - slow_s))
            self._began = None

    @property
    def step_s(self) -> float | None:
        """Seconds that a step takes, or that this one has taken already; None before the first."""
        began = self._began
        if self._slow_s is None or began is None:
            return self._slow_s
        return max(self._slow_s, self._awake_s(self._now_s()) - began)

    def _awake_s(self, now_s: float) -> float:
        """Return the time without what this process stood still, where anybody looks after that."""
        if self._alive is None:
            return now_s
        seen_s, still_s = self._alive
        return now_s - still_s - max(0.0, now_s - seen_s - STILL_S)
