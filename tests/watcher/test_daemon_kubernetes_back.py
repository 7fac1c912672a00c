"""A Node that is back after a reboot, under its old name: freed of what is ours, and of no more."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.kinds import NODE as NODE_KIND
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import eventually
from tests.support.watcher_process import WatcherProcess, control, daemon_process
from watcher.actions.node_state import Done, NodeState, compose
from watcher.kube.keys import CONDITION, NO_LOAD_BALANCER, RECLAIM, STATE
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

NODE = "node-a"
MINE = f"aws:///eu-west-1a/{DEFAULT_INSTANCE_ID}"
LAST_BOOT = "11111111-2222-3333-4444-555555555555"
OLD_PODS = ["old-0", "old-1"]


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated EC2."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


@pytest.fixture
async def cluster() -> AsyncIterator[FakeApiServer]:
    """An API server that still shows the Node and its pods as they were before the reboot."""
    async with fake_api_server() as server:
        server.cluster.add_node(NODE, provider_id=MINE, boot_id=LAST_BOOT)
        for name in OLD_PODS:
            server.cluster.add_pod(name, NODE)
        yield server


def _reclaimed(cluster: FakeApiServer, *, was_unschedulable: bool) -> None:
    """Leave on the Node what a daemon has done to it in the last boot."""
    done = Done(
        was_unschedulable=was_unschedulable, taint="preemption", is_excluded=True, is_marked=True
    )
    notice = {"id": "spot", "kind": "preemption", "deadline": None}
    state = compose(NodeState(boot_id=LAST_BOOT, notice=notice, done=done))
    taint = {"key": RECLAIM, "value": "preemption", "effect": "NoSchedule"}
    cluster.cluster.edit_node(NODE, unschedulable=True, taints=[taint])
    cluster.cluster.mark_node(NODE, labels={NO_LOAD_BALANCER: "true"}, annotations={STATE: state})
    node = cluster.cluster.node(NODE)
    node["status"]["conditions"].append({"type": CONDITION, "status": "True"})
    cluster.store.replace(NODE_KIND, node)


@asynccontextmanager
async def _daemon(root: Path, cloud: str, cluster: FakeApiServer) -> AsyncIterator[WatcherProcess]:
    token, run_dir = root / "token", root / "run"
    token.write_text(ADMIN)
    run_dir.mkdir()
    where = {
        "REPRIEVE_KUBERNETES_URL": cluster.url,
        "REPRIEVE_KUBERNETES_TOKEN_FILE": str(token),
    }
    async with daemon_process(run_dir, cloud, **where) as watcher:
        yield watcher


def _ends(cluster: FakeApiServer) -> list[str]:
    """Return every call that would have ended a pod."""
    resources = ("pods/eviction", "pods")
    calls = cluster.access.calls
    return [str(one) for one in calls if one.resource in resources and one.verb != "list"]


async def test_node_is_freed_when_it_is_back_with_its_old_pods_still_listed(
    tmp_path: Path, cloud: str, cluster: FakeApiServer
) -> None:
    """To the byte; and nobody's pod is ended for a notice of the last boot."""
    before = cluster.cluster.content(NODE)
    _reclaimed(cluster, was_unschedulable=False)
    async with _daemon(tmp_path, cloud, cluster) as watcher:
        await eventually(lambda: cluster.cluster.content(NODE) == before)
        await watcher.answers("/readyz", 200)
        assert watcher.flag() is None
    assert _ends(cluster) == []


async def test_cordon_of_a_human_stays_when_the_node_is_back(
    tmp_path: Path, cloud: str, cluster: FakeApiServer
) -> None:
    """As our mark says that it was there before us; all else is taken off."""
    cluster.cluster.edit_node(NODE, unschedulable=True)
    before = cluster.cluster.content(NODE)
    _reclaimed(cluster, was_unschedulable=True)
    async with _daemon(tmp_path, cloud, cluster):
        await eventually(lambda: cluster.cluster.content(NODE) == before)


async def test_node_stays_as_it_is_when_nothing_on_it_is_ours(
    tmp_path: Path, cloud: str, cluster: FakeApiServer
) -> None:
    """A cordon and even a taint of our name without our mark are somebody's."""
    taint = {"key": RECLAIM, "value": "by-hand", "effect": "NoSchedule"}
    cluster.cluster.edit_node(NODE, unschedulable=True, taints=[taint])
    before = cluster.cluster.content(NODE)
    async with _daemon(tmp_path, cloud, cluster) as watcher:
        await watcher.answers("/readyz", 200)
    assert cluster.cluster.content(NODE) == before
    assert {call.verb for call in cluster.access.calls} <= {"get", "list", "watch"}


async def test_pods_are_drained_when_a_notice_comes_after_the_node_is_back(
    tmp_path: Path, cloud: str, cluster: FakeApiServer
) -> None:
    """The old ones too, as long as they are listed; and the cordon is this boot's."""
    _reclaimed(cluster, was_unschedulable=False)
    async with _daemon(tmp_path, cloud, cluster) as watcher:
        await eventually(lambda: STATE not in _annotations(cluster))
        await control(cloud, "notice", window_s=120)
        await eventually(lambda: cluster.cluster.terminating() == OLD_PODS)
        assert LAST_BOOT not in _annotations(cluster)[STATE]
        for name in OLD_PODS:
            cluster.cluster.finish_pod(name)
        await eventually(lambda: "what=drained" in watcher.log)
    assert cluster.cluster.node(NODE)["spec"]["unschedulable"] is True


def _annotations(cluster: FakeApiServer) -> dict[str, str]:
    annotations: dict[str, str] = cluster.cluster.node(NODE)["metadata"].get("annotations", {})
    return annotations
