"""From a cluster's queue to a node's flag: relays, the API server, and the daemon on the node."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.aws_bodies import changed
from tests.support.clocks import eventually
from tests.support.moto_aws import Moto, spot_warning
from tests.support.relay_process import relay_process
from tests.support.watcher_process import NOBODY, WatcherProcess
from watcher.kube.keys import NOTICE, OUT_OF_SERVICE

pytestmark = pytest.mark.e2e

NODE = "node-a"
MINE = "i-0123456789abcdef0"


@pytest.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeApiServer]:
    """An API server with our Node and others, which every process finds."""
    token = tmp_path / "token"
    token.write_text(ADMIN)
    monkeypatch.setenv("REPRIEVE_KUBERNETES_TOKEN_FILE", str(token))
    async with fake_api_server() as server:
        server.cluster.add_node(NODE, provider_id=f"aws:///us-east-1a/{MINE}")
        for number in range(20):
            server.cluster.add_node(
                f"node-{number}", provider_id=f"aws:///us-east-1a/i-{number:017x}"
            )
        monkeypatch.setenv("REPRIEVE_KUBERNETES_URL", server.url)
        yield server


def _marked(cluster: FakeApiServer) -> int:
    nodes = [cluster.cluster.node(f"node-{number}") for number in range(20)]
    return sum(NOTICE in node["metadata"].get("annotations", {}) for node in nodes)


async def test_node_stops_when_the_clusters_queue_says_so(
    moto: Moto, tmp_path: Path, cluster: FakeApiServer
) -> None:
    """The message is deleted when its word is on the Node, where the daemon hears it."""
    url = await asyncio.to_thread(moto.queue)
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    nowhere = NOBODY["REPRIEVE_AZURE_METADATA_ENDPOINT"]
    watcher = await WatcherProcess.start(run_dir, nowhere, "--cloud=none")
    try:
        await watcher.answers("/readyz", 200)
        async with relay_process(url, "kubernetes") as relay:
            await asyncio.to_thread(moto.send, url, [spot_warning(MINE)])
            flag = await watcher.shows("stop")
            assert flag["instance_id"] == MINE
            assert flag["detail"]["relayed_from"] == "aws_sqs"
            await moto.becomes(url, (0, 0))
            assert NOTICE in cluster.cluster.node(NODE)["metadata"]["annotations"]
            relay.terminate()
            assert await relay.wait() == 0
    finally:
        assert await watcher.end() == 0, watcher.log


async def test_every_node_is_told_when_one_of_two_relays_is_killed(
    moto: Moto, cluster: FakeApiServer
) -> None:
    """Nobody is elected: what the dead one held comes back to the other ten seconds later."""
    url = await asyncio.to_thread(moto.queue)
    async with (
        relay_process(url, "kubernetes") as first,
        relay_process(url, "kubernetes"),
    ):
        await eventually(lambda: len(cluster.watches) == 2)
        bodies = [spot_warning(f"i-{number:017x}") for number in range(20)]
        await asyncio.to_thread(moto.send, url, bodies)
        await eventually(lambda: _marked(cluster))
        first.send_signal(signal.SIGKILL)
        await first.wait()
        async with asyncio.timeout(40):
            await moto.becomes(url, (0, 0))
        assert _marked(cluster) == 20


async def test_node_is_out_of_service_when_its_machine_is_gone_and_back_with_its_next_boot(
    moto: Moto, cluster: FakeApiServer
) -> None:
    """The relay that puts it back need not be the one that has taken it out."""
    url = await asyncio.to_thread(moto.queue)
    _boots(cluster, "boot-1")
    before = cluster.cluster.node(NODE)["spec"]
    gone = changed("state-change-terminated", "detail/instance-id", MINE).decode()
    async with relay_process(url, "kubernetes"):
        await asyncio.to_thread(moto.send, url, [gone])
        await moto.becomes(url, (0, 0))
        [taint] = cluster.cluster.node(NODE)["spec"]["taints"]
        assert (taint["key"], taint["effect"]) == (OUT_OF_SERVICE, "NoExecute")
    async with relay_process(url, "kubernetes"):
        _boots(cluster, "boot-2")
        await eventually(lambda: cluster.cluster.node(NODE)["spec"] == before)


def _boots(cluster: FakeApiServer, boot_id: str) -> None:
    node = cluster.cluster.node(NODE)
    node["status"]["nodeInfo"]["bootID"] = boot_id
    cluster.store.replace(NODE_KIND, node)
