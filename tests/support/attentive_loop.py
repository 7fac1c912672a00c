"""A loop whose clock stands still while the loop is held up."""

import asyncio
import selectors
import time
from collections.abc import Callable

STRIDE_S = 0.004
"""Most that passes between two looks at the clock, in seconds; the loop waits no longer at once."""


class _Looking(selectors.DefaultSelector):
    """Waits in strides, and has the clock looked at after each."""

    def __init__(self, look: Callable[[], float]) -> None:
        super().__init__()
        self._look = look

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(None)
        now_s = self._look()
        end_s = now_s + timeout
        while not (ready := super().select(min(STRIDE_S, end_s - now_s))):
            now_s = self._look()
            if now_s >= end_s:
                break
        return ready


class AttentiveLoop(asyncio.SelectorEventLoop):
    """Counts only the time in which what is ready is dealt with at once.

    Server and client of a test share its loop, so a machine that is busy elsewhere, or a garbage
    collection, holds up both. By a clock that goes on meanwhile, a limit that is short because
    something hangs would be over for an answer that is there. By this one it is as long as ever.
    """

    def __init__(self) -> None:
        self._now_s = self._looked_at_s = time.monotonic()
        super().__init__(_Looking(self.time))

    def time(self) -> float:
        looked_at_s = time.monotonic()
        self._now_s += min(looked_at_s - self._looked_at_s, STRIDE_S)
        self._looked_at_s = looked_at_s
        return self._now_s
