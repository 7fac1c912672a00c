"""A loop that does not wait: when nothing is ready, its clock skips to the next timer."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Impatient(selectors.SelectSelector):
    """Skips what it was to wait for, and tells by how much."""

    def __init__(self, skip: Callable[[float], None]) -> None:
        super().__init__()
        self._skip = skip

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            return super().select(None)  # for another thread, which has no timer
        if not ready and timeout is not None:
            self._skip(timeout)
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """Time passes only by skips, so what the clock shows is exact."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Impatient(self._skip))

    def time(self) -> float:
        return self._now_s

    def _skip(self, by_s: float) -> None:
        self._now_s += by_s


def run_skipping(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine function to its end without waiting for any timer."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main())
