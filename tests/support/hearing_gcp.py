"""The GCP source under supervision, as in the daemon, against a simulated VM."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.support.clocks import TurnedClock
from tests.support.ears import Ears
from tests.support.running import running
from watcher.health import SourceHealth
from watcher.httpclient import HttpClient
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.gcp_metadata import CONNECTIONS, KEYS, NAME, GcpMetadataKeys
from watcher.supervise import keep_running


@asynccontextmanager
async def listening(
    url: str, clock: TurnedClock, *, adopted: tuple[Notice, ...] = ()
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(HttpClient(url)) for _ in range(CONNECTIONS)]
        health = SourceHealth(NAME, KEYS, clock(), Metrics())
        source = GcpMetadataKeys(clients, health, clock, adopted)
        ears = Ears(health)
        async with running(*(keep_running(lane, ears.inbox, clock) for lane in source.lanes)):
            yield ears
