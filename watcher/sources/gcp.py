"""All that Google Cloud tells one VM: what its metadata server says of it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from watcher.httpclient import HttpClient
from watcher.sources.gcp_config import READERS, GcpConfig, ambient_settings
from watcher.sources.gcp_metadata import CONNECTIONS, GcpMetadataKeys
from watcher.sources.gcp_proof import DMI, proof
from watcher.sources.gcp_vm import GcpVm
from watcher.sources.road import Kinds, Opened, Road, Site


def wanted(config: GcpConfig) -> Kinds:
    """Return the sources that the settings ask for."""
    return {GcpMetadataKeys.name: GcpMetadataKeys.kinds} if config.metadata == "on" else {}


@asynccontextmanager
async def opened(config: GcpConfig, site: Site) -> AsyncIterator[Opened]:
    """Open the sources that are wanted, until the end of the block."""
    async with AsyncExitStack() as stack:
        keys = await _metadata(config, site, stack) if config.metadata == "on" else None
        yield Opened(sources=keys.lanes if keys else ())


async def _metadata(config: GcpConfig, site: Site, stack: AsyncExitStack) -> GcpMetadataKeys:
    clients = [
        await stack.enter_async_context(
            HttpClient(config.metadata_endpoint, config.metadata_limit_s)
        )
        for _ in range(CONNECTIONS)
    ]
    health = site.health(GcpMetadataKeys.name, GcpMetadataKeys.keys)
    return GcpMetadataKeys(
        clients,
        health,
        site.now,
        site.left_by(GcpMetadataKeys.name),
        vm=GcpVm(health.facts, config.preemption_notice_s),
        event_notice_s=config.event_notice_s,
    )


ROAD = Road(
    section="gcp",
    cloud="gcp",
    settings=GcpConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    ambient=ambient_settings,
    proof=proof,
    dmi=DMI,
)
