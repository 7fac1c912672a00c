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
        self._cloud_ahead_s = 0.0

    def start(self, *, cloud_ahead_s: float = 0.0) -> None:
        """Count from now: the server answers, and second 0 of the scenario begins.

        From now on the cloud's wall clock is ``cloud_ahead_s`` ahead of this machine's.
        """
        self._started_at = self._monotonic()
        self._cloud_ahead_s = cloud_ahead_s

    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return self._monotonic() - self._started_at

    def wall_time(self) -> datetime:
        """Return the UTC time that the cloud's clock shows."""
        return datetime.fromtimestamp(self._wall() + self._cloud_ahead_s, UTC)

    def wall_time_at(self, at_s: float) -> datetime:
        """Return the UTC time at second ``at_s`` of the scenario, as the wall clock tells it now.

        Reckoned back from the present, because a change is noticed only when somebody asks:
        a wall clock that was set since the start must not shift a moment that is just past.
        """
        return self.wall_time() - timedelta(seconds=self.elapsed_s() - at_s)
