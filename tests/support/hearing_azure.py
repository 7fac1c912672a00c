"""The Azure source under supervision, as in the daemon but a hundred times as fast."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tests.support.clocks import TurnedClock
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_events import EVENTS, AzureEvents
from watcher.sources.pace import Pace
from watcher.supervise import keep_running

LIMIT_S = 0.5
DEFAULTS = AzureConfig()


@dataclass
class AzureEars:
    """A source under supervision, and what has come of it."""

    source: AzureEvents
    health: SourceHealth
    inbox: asyncio.Queue[Notice]

    def heard(self) -> list[Notice]:
        """Take everything out of the inbox."""
        return [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]

    def blind(self, key: str = EVENTS) -> bool:
        """Tell whether the key is blind at the moment."""
        return self.health.keys[key].blind_since is not None

    async def next(self) -> Notice:
        """Wait for the next notice."""
        async with asyncio.timeout(20):
            return await self.inbox.get()


@asynccontextmanager
async def hearing_azure(
    url: str,
    clock: TurnedClock,
    config: AzureConfig = DEFAULTS,
    adopted: tuple[Notice, ...] = (),
) -> AsyncIterator[AzureEars]:
    """Run the source as the daemon does, but a hundred times as fast."""
    async with HttpClient(url, LIMIT_S) as events, HttpClient(url, LIMIT_S) as rest:
        health = SourceHealth(AzureEvents.name, AzureEvents.keys(config), clock(), Metrics())
        source = AzureEvents((events, rest), config, health, clock, adopted)
        for lane in source.lanes:
            lane._looks = [replace(look, pace=Pace(0.01)) for look in lane._looks]
        ears = AzureEars(source, health, asyncio.Queue())
        running = [
            *(asyncio.create_task(keep_running(one, ears.inbox, clock)) for one in source.lanes),
            asyncio.create_task(source.approvals.keep()),
        ]
        try:
            yield ears
        finally:
            assert not any(task.done() for task in running), "a lane has ended by itself"
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
