"""The scenario's clock: seconds since the simulator was ready, and the wall time they stand for."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class ScenarioClock:
    """Counts seconds from :meth:`start`; both clocks are arguments, so that a test can turn them.

    Args:
        monotonic: Seconds on a clock that never jumps.
        wall: Seconds since 1970-01-01 UTC.
    """

    def __init__(
        self,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._started_at = monotonic()

    def start(self) -> None:
        """Count from now: the server answers, and second 0 of the scenario begins."""
        self._started_at = self._monotonic()

    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return self._monotonic() - self._started_at

    def wall_time_at(self, at_s: float) -> datetime:
        """Return the UTC time at second ``at_s`` of the scenario, as the wall clock tells it now.

        Reckoned back from the present, because a change is noticed only when somebody asks:
        a wall clock that was set since the start must not shift a moment that is just past.
        """
        present = datetime.fromtimestamp(self._wall(), UTC)
        return present - timedelta(seconds=self.elapsed_s() - at_s)
