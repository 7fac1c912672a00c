"""The Azure source under supervision, as in the daemon but a hundred times as fast."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from tests.support.clocks import TurnedClock
from tests.support.ears import Ears
from tests.support.running import running
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.azure_config import AzureConfig
from watcher.sources.azure_events import EVENTS, AzureEvents
from watcher.sources.pace import Pace
from watcher.sources.road import Site
from watcher.state import State
from watcher.supervise import keep_running

LIMIT_S = 0.5
DEFAULTS = AzureConfig()


class AzureEars(Ears):
    """With the source, whose main key is the document."""

    def __init__(self, source: AzureEvents, health: SourceHealth) -> None:
        super().__init__(health)
        self.source = source

    def is_blind(self, key: str = EVENTS) -> bool:
        """Tell whether the key is blind at the moment."""
        return super().is_blind(key)


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
        site = Site(Metrics(), clock, State(), adopted)
        source = AzureEvents((events, rest), config, health, site)
        for lane in source.lanes:
            lane._looks = [replace(look, pace=Pace(0.01)) for look in lane._looks]
        ears = AzureEars(source, health)
        lanes = (keep_running(lane, ears.inbox, clock) for lane in source.lanes)
        async with running(*lanes, source.approvals.keep()):
            yield ears
