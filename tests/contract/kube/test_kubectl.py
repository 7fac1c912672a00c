"""The real kubectl works against the fake as against an API server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.certificate import certified
from tests.support.clocks import eventually
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.e2e

APP = {"app": "web"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[FakeApiServer]:
    """Run the fake over TLS."""
    context, _ = certified(tmp_path)
    async with fake_api_server(tls=context) as server:
        yield server


@pytest.fixture
def kubectl(server: FakeApiServer, tmp_path: Path) -> Kubectl:
    """Return a kubectl that trusts it."""
    return Kubectl(server.url, tmp_path / "ca.crt", tmp_path)


async def test_kubectl_gets_cordons_and_taints(server: FakeApiServer, kubectl: Kubectl) -> None:
    """And takes all of it back."""
    server.cluster.add_node("node-a")
    assert "node-a" in await kubectl.says("get", "nodes")
    assert '"name": "node-a"' in await kubectl.says("get", "node", "node-a", "--output=json")
    assert "cordoned" in await kubectl.says("cordon", "node-a")
    assert server.cluster.node("node-a")["spec"]["unschedulable"] is True
    assert "uncordoned" in await kubectl.says("uncordon", "node-a")
    assert "tainted" in await kubectl.says("taint", "node", "node-a", "x=y:NoSchedule")
    assert server.cluster.node("node-a")["spec"]["taints"] == [
        {"key": "x", "value": "y", "effect": "NoSchedule"}
    ]
    assert "untainted" in await kubectl.says("taint", "node", "node-a", "x-")
    assert server.cluster.node("node-a")["spec"] == {}
    assert "Taints:" in await kubectl.says("describe", "node", "node-a")


async def test_kubectl_drains_once_the_budget_allows_it(
    server: FakeApiServer, kubectl: Kubectl
) -> None:
    """It tries a refused eviction again, and waits for the pods to be gone."""
    cluster = server.cluster
    cluster.add_node("node-a")
    for name, node in (("web", "node-a"), ("bare", "node-a"), ("other", "node-b")):
        cluster.add_pod(name, node, labels=APP if name == "web" else {}, owner="ReplicaSet")
    cluster.add_budget("pdb", APP, allowed=0)
    async with kubectl.started("drain", "node-a", "--timeout=40s") as process:
        refused = "create pods/eviction team-a/web"
        await eventually(
            lambda: [one.status for one in server.access.calls if str(one) == refused] == [429]
        )
        await eventually(lambda: cluster.terminating() == ["bare"])
        cluster.finish_pod("bare")
        cluster.allow("pdb", 1)
        await eventually(lambda: cluster.terminating() == ["web"])
        cluster.finish_pod("web")
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
    assert cluster.pods() == ["other"]
    assert cluster.node("node-a")["spec"]["unschedulable"] is True


async def test_kubectl_watches_what_happens(server: FakeApiServer, kubectl: Kubectl) -> None:
    """A line for a Node that joins while it watches."""
    server.cluster.add_node("node-a")
    async with kubectl.started("get", "nodes", "--watch", "--output=name") as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"node/node-a\n"
        await eventually(lambda: server.watches)
        server.cluster.add_node("node-b")
        assert await process.stdout.readline() == b"node/node-b\n"
