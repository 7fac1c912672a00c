"""The fake API server, and our client of it for one node."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from watcher.kube.client import KubeClient
from watcher.kube.node import NodeApi
from watcher.kube.place import Place
from watcher.kube.pods import PodApi

NODE = "node-a"


class OwnNode:
    """What one node sees of the cluster, and the test's hands in it."""

    def __init__(self, server: FakeApiServer, client: KubeClient, token_file: Path) -> None:
        self.server = server
        self.cluster = server.cluster
        self.client = client
        self.token_file = token_file
        self.node = NodeApi(client, NODE)
        self.pods = PodApi(client, NODE)

    def calls(self) -> list[str]:
        """Return every call so far, such as ``get nodes node-a``."""
        return [str(call) for call in self.server.access.calls]


@asynccontextmanager
async def own_node(
    directory: Path, *, limit_s: float = 2.0, is_dry_run: bool = False
) -> AsyncIterator[OwnNode]:
    """Run the fake with one Node, and a client whose token is in a file."""
    token_file = directory / "token"
    token_file.write_text(f"{ADMIN}\n")
    async with fake_api_server() as server:
        server.cluster.add_node(NODE)
        place = Place(server.url, token_file)
        async with KubeClient(place, None, is_dry_run=is_dry_run, limit_s=limit_s) as client:
            yield OwnNode(server, client, token_file)
