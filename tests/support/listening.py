"""The AWS source under supervision, as in the daemon but a hundred times as fast."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.support.clocks import TurnedClock
from tests.support.scripted_imds import ScriptedImds
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.aws_imds import KEYS, SPOT, AwsImds
from watcher.sources.pace import Pace
from watcher.supervise import keep_running

BODY = '{"action": "terminate", "time": "2026-11-30T10:07:06Z"}'
"""A Spot notice of 120 s, if the clocks have not been turned."""


@dataclass
class Ears:
    """A source under supervision, and what has come of it."""

    source: AwsImds
    inbox: asyncio.Queue[Notice]

    def heard(self) -> list[Notice]:
        """Take everything out of the inbox."""
        return [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]

    def blind(self, key: str = SPOT) -> bool:
        """Tell whether the key is blind at the moment."""
        return self.source.health.keys[key].blind_since is not None


@asynccontextmanager
async def listening(
    imds: ScriptedImds,
    clock: TurnedClock,
    *,
    adopted: tuple[Notice, ...] = (),
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does, but a hundred times as fast."""
    async with HttpClient(imds.url) as client:
        health = SourceHealth(AwsImds.name, KEYS, clock(), Metrics())
        source = AwsImds(client, health, clock, adopted)
        for key in source._paces:
            source._paces[key] = Pace(0.01)
        ears = Ears(source, asyncio.Queue())
        running = asyncio.create_task(keep_running(source, ears.inbox, clock))
        try:
            yield ears
        finally:
            assert not running.done(), "the source has ended by itself"
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
