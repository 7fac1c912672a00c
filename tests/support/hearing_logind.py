"""The source ``logind`` under supervision, against a logind of the test's own."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.support.clocks import TurnedClock
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind
from watcher.sources.logind import ID, KEY, NAME, Logind
from watcher.supervise import keep_running


@dataclass
class Ears:
    """The source under supervision, and what has come of it."""

    source: Logind
    health: SourceHealth
    inbox: asyncio.Queue[Notice]

    def heard(self) -> list[bool]:
        """Take everything out of the inbox: whether each is taken back."""
        notices = [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]
        assert {(notice.id, notice.kind) for notice in notices} <= {(ID, NoticeKind.SHUTDOWN)}
        return [notice.withdrawn for notice in notices]

    @property
    def why(self) -> str:
        """Why the source is blind; empty if it is not."""
        return self.health.keys[KEY].why

    @property
    def inhibitor(self) -> str:
        """What has become of the lock."""
        return self.health.facts.get("inhibitor", "")


@asynccontextmanager
async def hearing(
    address: str, clock: TurnedClock, adopted: Iterable[Notice] = ()
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does."""
    health = SourceHealth(NAME, (KEY,), clock(), Metrics())
    source = Logind(address, health, clock, adopted)
    ears = Ears(source, health, asyncio.Queue())
    running = asyncio.create_task(keep_running(source, ears.inbox, clock))
    try:
        yield ears
    finally:
        assert not running.done(), "the source has ended by itself"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        source.close()
