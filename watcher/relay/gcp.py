"""What a relay reads of Google Cloud: a Pub/Sub subscription, and what is known of a fleet."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from watcher.config import Config, RelayConfig
from watcher.custody import Custody, Message
from watcher.errors import ConfigError
from watcher.gcp.library import ComputeLibrary, require_library
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.process import now
from watcher.relay.addressees import Ours
from watcher.relay.delivery import Delivery
from watcher.relay.gcp_fleet import KEYS as FLEET_KEYS
from watcher.relay.gcp_fleet import Fleet, FleetWatch
from watcher.relay.opened import Opened, Queue
from watcher.relay.relay import VISIBILITY_S, Parts, Relay
from watcher.sources.gcp_apis import GcpApis
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_entry import PUBSUB, parse_entry
from watcher.sources.gcp_instance import COMPUTE
from watcher.sources.gcp_pubsub import WAIT_S
from watcher.sources.intake import Intake
from watcher.sources.reading import ForInstance, Notices
from watcher.sources.reception import KEYS, Receivable, Reception
from watcher.sources.road import Site
from watcher.state import State

READERS = 2
"""Pulls side by side: each brings up to ten messages at once, and an entry is one message."""


class Everybody:
    """The addressees of a subscription that only this cluster's relays read: all are ours."""

    async def ours(self, notices: Notices) -> Ours:
        """Return every notice to an instance."""
        told = tuple(one for one in notices.addressed if isinstance(one, ForInstance))
        return Ours(told, is_all=True)


class UntilStopped:
    """A subscription whose pulls end when the relay is told to end.

    Pub/Sub holds a pull for longer than anybody waits for a relay. What it gives to one that is
    given up is hidden for the 10 s of the subscription, and then seen by another relay.
    """

    def __init__(self, queue: Receivable, stop: asyncio.Event) -> None:
        self._queue = queue
        self._stop = stop

    async def receive(self, *, wait_s: int, visibility_s: int) -> list[Message]:
        """Return what the subscription does, or nothing when the relay is to end.

        Raises:
            CloudCallFailed: It is unknown whether there are messages.
        """
        receive = self._queue.receive(wait_s=wait_s, visibility_s=visibility_s)
        receiving = asyncio.create_task(receive)
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({receiving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return receiving.result() if receiving.done() else []
        finally:
            receiving.cancel()
            stopping.cancel()


def require_gcp(config: RelayConfig) -> None:
    """Make sure that Google's library is there if a fleet is to be watched.

    Raises:
        ConfigError: It is not, or the queue is said to be shared, which a subscription can't be.
    """
    if config.shared_queue:
        raise ConfigError(
            "--shared-queue: a subscription can't be shared, because an entry does not say a VM's "
            "labels; make one for each cluster (deploy/gcp/setup.sh relay --name CLUSTER)"
        )
    if config.gcp_fleet is not None:
        require_library("relay.gcp_fleet")


@contextlib.asynccontextmanager
async def opened_gcp(
    config: Config, delivery: Delivery, metrics: Metrics, stop: asyncio.Event
) -> AsyncIterator[Opened]:
    """Open what reads the subscription and what watches the fleet, until the end of the block."""
    relay, road = config.relay, config.of(GcpConfig)
    site = Site(metrics, now, State())
    healths, keepers, queue = list[SourceHealth](), [], None
    async with contextlib.AsyncExitStack() as stack:
        if relay.subscription is not None:
            health = site.health(PUBSUB, KEYS)
            apis = GcpApis(road, site, stack)
            queues = [await apis.subscription(relay.subscription) for _ in range(READERS)]
            custody = Custody(queues[0], VISIBILITY_S, metrics.messages_held)
            parts = Parts(
                readers=[Reception(UntilStopped(one, stop), WAIT_S, health, now) for one in queues],
                intake=Intake(parse_entry, metrics, now),
                custody=custody,
                addressees=Everybody(),
                delivery=delivery,
            )
            queue = Queue(Relay(parts, health, now), custody)
            healths.append(health)
            keepers.append(custody.keep)
        if relay.gcp_fleet is not None:
            project, _, zones = relay.gcp_fleet.partition("/")
            library = ComputeLibrary(project, road.compute_endpoint)
            stack.enter_context(contextlib.closing(library))
            fleet = Fleet(library, zones.split(","), relay.cluster_tag)
            watch = FleetWatch(fleet, delivery, site.health(COMPUTE, FLEET_KEYS), now)
            healths.append(watch.health)
            keepers.append(watch.keep)
        what = " ".join(one for one in (relay.subscription, relay.gcp_fleet) if one)
        yield Opened(what=what, healths=healths, queue=queue, keepers=keepers)
