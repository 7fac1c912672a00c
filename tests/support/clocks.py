"""Time in the daemon's tests: clocks that the test turns, and waiting without a fixed sleep."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from watcher.notice import Moment

START = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)


class TurnedClock:
    """Both clocks at once; they stand still unless turned."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> Moment:
        return self.moment

    def turn(self, by_s: float) -> None:
        """Let ``by_s`` seconds pass on both clocks."""
        wall = self.moment.wall + timedelta(seconds=by_s)
        self.moment = Moment(wall, self.moment.boottime_s + by_s)


class Seconds:
    """A clock of durations alone; it stands still unless moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_s(self, seconds: float) -> None:
        """Move on."""
        self.now += seconds


async def eventually(holds: Callable[[], object]) -> None:
    """Wait, within a generous limit, until ``holds`` returns something true."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what is waited for is in a file or another process
            await asyncio.sleep(0.005)
