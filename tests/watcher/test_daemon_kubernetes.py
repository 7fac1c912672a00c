"""The daemon as a process in a cluster: flag, signal and Node, with and without an API server."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import eventually
from tests.support.told_by_program import Mouth
from tests.support.watcher_process import WatcherProcess, control
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

ON_NODE = {"node_mark", "cordon", "taint", "lb_exclusion", "drain"}
MINE = f"aws:///eu-west-1a/{DEFAULT_INSTANCE_ID}"


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated EC2 whose notices the test issues."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


@pytest.fixture
async def cluster() -> AsyncIterator[FakeApiServer]:
    """An API server with our Node."""
    async with fake_api_server() as server:
        yield server


@asynccontextmanager
async def _daemon(
    root: Path, cloud: str, cluster: FakeApiServer, *options: str, is_ready: bool = True
) -> AsyncIterator[WatcherProcess]:
    run_dir, token = root / "run", root / "token"
    run_dir.mkdir(exist_ok=True)
    token.write_text(ADMIN)
    watcher = await WatcherProcess.start(
        run_dir,
        cloud,
        *options,
        REPRIEVE_KUBERNETES_URL=cluster.url,
        REPRIEVE_KUBERNETES_TOKEN_FILE=str(token),
    )
    try:
        await watcher.answers("/readyz", 200 if is_ready else 503)
        yield watcher
    finally:
        assert await watcher.end() == 0, watcher.log


async def _outcomes(watcher: WatcherProcess) -> dict[str, str]:
    state: dict[str, list[dict[str, Any]]] = json.loads((await watcher.ask("/v1/state"))[1])
    (notice,) = state["in_force"]
    return {name: one["outcome"] for name, one in notice["actions"].items()}


async def _reaches(watcher: WatcherProcess, outcome: str) -> None:
    lines = [f"action {outcome} action={name} " for name in ON_NODE]
    await eventually(lambda: all(line in watcher.log for line in lines))


def _node(cluster: FakeApiServer) -> dict[str, Any]:
    node = cluster.cluster.node("node-a")
    del node["metadata"]["resourceVersion"]
    return node


async def test_node_follows_the_notice_and_is_as_it_was_afterwards(
    tmp_path: Path, cloud: str, cluster: FakeApiServer
) -> None:
    """Cordoned, tainted, marked and out of load balancers; withdrawn, nothing of it is left."""
    cluster.cluster.add_node("node-a", provider_id=MINE)
    before = _node(cluster)
    mouth, config = Mouth(tmp_path), tmp_path / "watcher.toml"
    config.write_text(f"[command]\nargv = {json.dumps(mouth.argv)}\nlimit_s = 0.1\n")
    async with _daemon(tmp_path, cloud, cluster, f"--config={config}") as watcher:
        mouth.say('{"id": "a", "kind": "maintenance", "window_s": 100}')
        await _reaches(watcher, "done")
        node = _node(cluster)
        assert node["spec"]["unschedulable"] is True
        assert node["spec"]["taints"][0]["value"] == "maintenance"
        mouth.say('{"id": "a", "withdrawn": true}')
        await _reaches(watcher, "undone")
        after = _node(cluster)
        after["metadata"].pop("annotations", None)
        assert after == before
        assert watcher.flag() is None
    mouth.close()


async def test_trainers_are_told_when_the_api_server_hangs_or_the_node_is_another(
    tmp_path: Path, cloud: str, cluster: FakeApiServer
) -> None:
    """Flag first; the Node of another machine is never written to, and that is said."""
    cluster.cluster.add_node("node-a", provider_id="aws:///eu-west-1a/i-0aaaaaaaaaaaaaaa0")
    cluster.faults.add(Trouble.HANG, resource="nodes")
    async with _daemon(tmp_path, cloud, cluster, is_ready=False) as watcher:
        await control(cloud, "notice", window_s=120)
        await watcher.shows("stop")
        assert "action done action=cordon" not in watcher.log
        cluster.faults.lift()
        await _reaches(watcher, "refused")
        assert await watcher.said("is another machine")
    verbs = {call.verb for call in cluster.access.calls if call.resource == "nodes"}
    assert verbs <= {"get", "list", "watch"}


async def test_nothing_is_done_when_it_is_a_dry_run(
    tmp_path: Path, cloud: str, cluster: FakeApiServer
) -> None:
    """No flag and no cordon, and every action says what it would have done."""
    cluster.cluster.add_node("node-a", provider_id=MINE)
    before = _node(cluster)
    async with _daemon(tmp_path, cloud, cluster, "--dry-run") as watcher:
        await control(cloud, "notice", window_s=120)
        await _reaches(watcher, "dry_run")
        outcomes = await _outcomes(watcher)
        assert outcomes == dict.fromkeys(("flag_file", *ON_NODE), "dry_run")
        assert watcher.flag() is None
    assert _node(cluster) == before
