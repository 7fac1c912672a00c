"""Opens the sources that Google's APIs are, each with the connections that it needs."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from watcher.custody import Custody
from watcher.gcp.metadata import GcpMetadata
from watcher.gcp.pubsub import ANSWER_LIMIT_BYTES, Subscription
from watcher.gcp.rest import API_LIMIT_S, GoogleApi
from watcher.httpclient import HttpClient
from watcher.sources.gcp_compute import GcpCompute
from watcher.sources.gcp_config import GcpConfig
from watcher.sources.gcp_entry import parse_entry
from watcher.sources.gcp_instance import Instance
from watcher.sources.gcp_pubsub import VISIBILITY_S, WAIT_S, GcpPubsub, Hands
from watcher.sources.intake import Intake
from watcher.sources.reception import Reception
from watcher.sources.road import Site


class GcpApis:
    """Google's APIs, until the stack is closed.

    Args:
        config: Where they are.
        site: What the daemon or the relay gives to what it opens.
        stack: Closes what is opened here.
    """

    def __init__(self, config: GcpConfig, site: Site, stack: AsyncExitStack) -> None:
        self._config = config
        self._site = site
        self._stack = stack
        self._metadata: GcpMetadata | None = None

    async def compute(self, learn: Callable[[Instance], None]) -> GcpCompute:
        """Open the source that asks the Compute API; ``learn`` is told of the VM."""
        config, site = self._config, self._site
        is_required = config.compute == "on"
        return GcpCompute(
            await self.api(config.compute_endpoint),
            await self.metadata(),
            site.health(GcpCompute.name, GcpCompute.keys, is_required=is_required),
            site.now,
            site.left_by(GcpCompute.name),
            learn=learn,
        )

    async def pubsub(self, name: str) -> tuple[GcpPubsub, Custody]:
        """Open the source that reads a subscription; its custody has to be kept."""
        site = self._site
        queue = await self.subscription(name)
        health = site.health(GcpPubsub.name, GcpPubsub.keys)
        custody = Custody(queue, VISIBILITY_S, site.metrics.messages_held)
        hands = Hands(
            reception=Reception(queue, WAIT_S, health, site.now),
            custody=custody,
            intake=Intake(parse_entry, site.metrics, site.now),
        )
        left = site.left_by(GcpPubsub.name)
        return GcpPubsub(hands, await self.metadata(), health, site.now, left), custody

    async def subscription(self, name: str) -> Subscription:
        """Open a subscription, with a connection to pull and one to tell."""
        endpoint = self._config.pubsub_endpoint
        return Subscription(name, await self.api(endpoint), await self.api(endpoint))

    async def api(self, endpoint: str) -> GoogleApi:
        """Open a connection to an API."""
        client = HttpClient(endpoint, API_LIMIT_S, body_limit_bytes=ANSWER_LIMIT_BYTES)
        return GoogleApi(await self._stack.enter_async_context(client), await self.metadata())

    async def metadata(self) -> GcpMetadata:
        """Return who gives identity and tokens, over one connection for all."""
        if self._metadata is None:
            client = HttpClient(self._config.metadata_endpoint, self._config.metadata_limit_s)
            opened = await self._stack.enter_async_context(client)
            self._metadata = GcpMetadata(opened, self._site.now)
        return self._metadata
