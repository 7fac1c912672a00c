"""All that Google Cloud tells one VM: its metadata server, and beside it two of its APIs.

The sources know nothing of each other, but for one number: how long ahead a preemption is
announced is known to the Compute API, and the metadata server shows when it is. A fact that comes
by several is as many notices of one VM: the flag file shows the one with the earliest deadline and
names the others.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from watcher.httpclient import HttpClient
from watcher.sources.base import Source
from watcher.sources.gcp_apis import GcpApis
from watcher.sources.gcp_compute import GcpCompute
from watcher.sources.gcp_config import READERS, GcpConfig, ambient_settings
from watcher.sources.gcp_doctor import checks
from watcher.sources.gcp_instance import Instance
from watcher.sources.gcp_metadata import CONNECTIONS, GcpMetadataKeys
from watcher.sources.gcp_proof import DMI, proof
from watcher.sources.gcp_pubsub import GcpPubsub
from watcher.sources.gcp_vm import GcpVm
from watcher.sources.gcp_windows import PREEMPTION_WINDOW_S
from watcher.sources.road import Kinds, Opened, Road, Site


def wanted(config: GcpConfig) -> Kinds:
    """Return the sources that the settings ask for."""
    every = (
        (GcpMetadataKeys, config.metadata == "on"),
        (GcpCompute, config.asks_compute),
        (GcpPubsub, config.subscription is not None),
    )
    return {source.name: source.kinds for source, is_wanted in every if is_wanted}


@asynccontextmanager
async def opened(config: GcpConfig, site: Site) -> AsyncIterator[Opened]:
    """Open the sources that are wanted, until the end of the block."""
    async with AsyncExitStack() as stack:
        sources = list[Source]()
        keepers = []
        vm: GcpVm | None = None
        if config.metadata == "on":
            keys = await _metadata(config, site, stack)
            sources += keys.lanes
            vm = keys.vm

        def learn(instance: Instance) -> None:
            if vm is not None and config.preemption_notice_s is None:
                vm.notice_s = instance.notice_s

        apis = GcpApis(config, site, stack)
        if config.asks_compute:
            sources.append(await apis.compute(learn))
        if config.subscription is not None:
            pubsub, custody = await apis.pubsub(config.subscription)
            sources.append(pubsub)
            keepers.append(custody.keep)
        yield Opened(sources=sources, keepers=keepers)


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
    edges=(GcpPubsub.name,),
    proof=proof,
    dmi=DMI,
    checks=checks,
    window_s=PREEMPTION_WINDOW_S,
)
