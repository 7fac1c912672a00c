"""The handler that writes on Nodes, over the fake API server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import TurnedClock, eventually
from watcher.health import SourceHealth
from watcher.kube.client import KubeClient
from watcher.kube.follow import Follower
from watcher.kube.keys import NOTICE
from watcher.kube.node import NODES
from watcher.kube.place import Place
from watcher.metrics import Metrics
from watcher.relay.node_cache import KEY, KEYS, NodeCache
from watcher.relay.nodes import CACHE, NodeHandler
from watcher.relay.out_of_service import BackInService


class Relayed:
    """One relay's cache and handler, and the test's hands in the cluster."""

    def __init__(self, server: FakeApiServer, client: KubeClient, clock: TurnedClock) -> None:
        self.server, self.cluster, self.clock = server, server.cluster, clock
        self.health = SourceHealth(CACHE, KEYS, clock(), Metrics())
        self.back = BackInService(client)
        follower = Follower(client, NODES, "")
        self.nodes = NodeCache(follower, self.health, clock, self.back.look)
        self.handler = NodeHandler(client, self.nodes, clock)

    async def sees(self) -> None:
        """Wait until the Nodes are known as they are now."""
        self.clock.turn(0.001)
        self.cluster.mark_node("idle", labels={"seen": str(self.server.store.version)})
        await eventually(lambda: self.health.keys[KEY].answered == self.clock())

    async def is_blind(self) -> None:
        """Wait until it is unknown which Nodes there are."""
        await eventually(self.health.blind_since)

    def told(self, node: str) -> list[str]:
        """Return the ids in a Node's annotation."""
        text = (self.cluster.node(node)["metadata"].get("annotations") or {}).get(NOTICE)
        entries: list[dict[str, Any]] = json.loads(text)["notices"] if text else []
        return [entry["id"] for entry in entries]

    def patches(self) -> int:
        """Return how many patches were stored."""
        done = [one for one in self.server.access.calls if one.status == 200]
        return sum(call.verb == "patch" for call in done)


@asynccontextmanager
async def relayed_cluster(
    directory: Path, clock: TurnedClock, server: FakeApiServer | None = None
) -> AsyncIterator[Relayed]:
    """Run the fake with one idle Node, or join one that runs, and keep a cache of its Nodes."""
    if server is None:
        async with fake_api_server() as new:
            new.cluster.add_node("idle")
            async with relayed_cluster(directory, clock, new) as relayed:
                yield relayed
        return
    token_file = directory / "token"
    token_file.write_text(ADMIN)
    async with KubeClient(Place(server.url, token_file), None, limit_s=0.5) as client:
        relayed = Relayed(server, client, clock)
        keeping = [asyncio.create_task(one.keep()) for one in (relayed.nodes, relayed.back)]
        try:
            yield relayed
            for task in keeping:
                assert not task.done(), task.exception()
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
