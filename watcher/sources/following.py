"""What a failure to follow Kubernetes objects is: a source's error, and a pause before the next."""

import asyncio
import random
from collections.abc import Callable

from watcher.errors import (
    KubeError,
    KubeForbidden,
    KubeMalformed,
    KubeThrottled,
    SourceError,
    SourceMalformed,
    SourceThrottled,
    SourceUnavailable,
)

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0
"""Longest pause after a failure, in seconds, unless the API server names a longer one. Jitter
spreads the nodes that one outage has synchronised."""

_CALM_S = 60.0
"""After so long without a failure the next one waits as short as the first, in seconds: a watch
that breaks off as soon as it is open has not mended anything."""


class Patience:
    """Waits before each try, longer after each failure.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pause_s = 0.0
        self._failed_s = float("-inf")

    async def wait(self) -> None:
        """Return when the next try is due; at once where none has failed."""
        await asyncio.sleep(self._pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret

    def failed(self, cause: Exception | None = None) -> None:
        """Note that a try has failed, and why, as the API server may name a pause itself."""
        now = self._clock()
        longer_s = 2 * self._pause_s if now < self._failed_s + _CALM_S else 0.0
        asked_s = cause.retry_after_s if isinstance(cause, KubeThrottled) else None
        pause_s = min(max(longer_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        self._pause_s, self._failed_s = max(pause_s, asked_s or 0.0), now


def as_source_error(error: KubeError) -> SourceError:
    """Return what a failed list or watch of Nodes is for a source."""
    match error:
        case KubeMalformed():
            return SourceMalformed(str(error))
        case KubeThrottled():
            return SourceThrottled(str(error), outcome="throttled")
        case KubeForbidden():
            return SourceUnavailable(
                f"{error}. The account needs list and watch on nodes", outcome="forbidden"
            )
        case _:
            return SourceUnavailable(str(error), outcome="unavailable")
