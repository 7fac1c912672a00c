"""The GCP source under supervision, as in the daemon, against a simulated VM."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from tests.support.clocks import TurnedClock
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.gcp_metadata import CONNECTIONS, KEYS, NAME, GcpMetadataKeys
from watcher.supervise import keep_running


@dataclass
class Ears:
    """A source under supervision, and what has come of it."""

    health: SourceHealth
    inbox: asyncio.Queue[Notice]

    def heard(self) -> list[Notice]:
        """Take everything out of the inbox."""
        return [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]

    async def hears(self) -> Notice:
        """Wait for the next notice."""
        async with asyncio.timeout(20):
            return await self.inbox.get()

    def is_blind(self, key: str) -> bool:
        """Tell whether the key is blind at the moment."""
        return self.health.keys[key].blind_since is not None


@asynccontextmanager
async def listening(
    url: str, clock: TurnedClock, *, adopted: tuple[Notice, ...] = ()
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(HttpClient(url)) for _ in range(CONNECTIONS)]
        health = SourceHealth(NAME, KEYS, clock(), Metrics())
        source = GcpMetadataKeys(clients, health, clock, adopted)
        ears = Ears(health, asyncio.Queue())
        running = [
            asyncio.create_task(keep_running(lane, ears.inbox, clock)) for lane in source.lanes
        ]
        try:
            yield ears
        finally:
            assert not any(task.done() for task in running), "a lane has ended by itself"
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
