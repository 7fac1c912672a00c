"""The daemon as a process, hearing what is on its Node, in no cloud that it knows."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.clocks import eventually
from tests.support.told_by_relay import told
from tests.support.watcher_process import NOBODY, WatcherProcess
from watcher.kube.keys import NOTICE
from watcher.kube.objects import node_of
from watcher.notice import Deadline
from watcher.process import now
from watcher.sources.relayed_notice import added

pytestmark = pytest.mark.e2e

NODE = "node-a"
MINE = "aws:///eu-west-1a/i-0123"
NOWHERE = NOBODY["REPRIEVE_AZURE_METADATA_ENDPOINT"]


@pytest.fixture
async def cluster() -> AsyncIterator[FakeApiServer]:
    """An API server with our Node."""
    async with fake_api_server() as server:
        server.cluster.add_node(NODE, provider_id=MINE)
        yield server


@asynccontextmanager
async def _daemon(
    root: Path, cluster: FakeApiServer, *, last: signal.Signals = signal.SIGTERM
) -> AsyncIterator[WatcherProcess]:
    run_dir, token = root / "run", root / "token"
    run_dir.mkdir(exist_ok=True)
    token.write_text(ADMIN)
    log = root / "run.log"  # an earlier run's address is in it
    runs = log.read_text().count("ready listen") if log.exists() else 0
    watcher = await WatcherProcess.start(
        run_dir,
        NOWHERE,
        "--cloud=none",
        REPRIEVE_KUBERNETES_URL=cluster.url,
        REPRIEVE_KUBERNETES_TOKEN_FILE=str(token),
    )
    try:
        await eventually(lambda: watcher.log.count("ready listen") > runs)
        await watcher.answers("/readyz", 200)
        yield watcher
    finally:
        assert await watcher.end(last) == (0 if last is signal.SIGTERM else -last), watcher.log


def _relay(cluster: FakeApiServer, name: str) -> None:
    """Tell the Node of a notice, as the relay does."""
    node = node_of(cluster.cluster.node(NODE))
    heard = now()  # the daemon's clock is the real one
    word = told(name, received=heard, deadline=Deadline.after(heard, 120))
    text = added(node.annotations.get(NOTICE), word, node, heard.wall)
    cluster.cluster.mark_node(NODE, annotations={NOTICE: text})


async def test_trainers_are_told_what_the_relay_and_controllers_write_on_the_node(
    tmp_path: Path, cluster: FakeApiServer
) -> None:
    """The relay's word with its deadline; and what we do to the Node is no second notice."""
    async with _daemon(tmp_path, cluster) as watcher:
        _relay(cluster, "a")
        flag = await watcher.shows("stop")
        assert (flag["id"], flag["source"]) == ("relayed-aws-spot-a", "kubernetes_node")
        assert flag["instance_id"] == "i-0123"
        await eventually(lambda: "action done action=taint" in watcher.log)
        await eventually(lambda: "action done action=cordon" in watcher.log)
        cluster.cluster.mark_node(NODE, labels={"qos.coreweave.cloud/pending-preemption": "true"})
        await eventually(lambda: len((watcher.flag() or {}).get("also", ())) == 1)
        cluster.cluster.mark_node(
            NODE,
            labels={"qos.coreweave.cloud/pending-preemption": None},
            annotations={NOTICE: None},
        )
        await eventually(lambda: watcher.flag() is None)
        await eventually(lambda: watcher.log.count("action undone") >= 8)
    heard = [line for line in watcher.log.splitlines() if "notice admitted" in line]
    assert len(heard) == 2


async def test_notice_is_in_force_again_when_the_daemon_was_killed(
    tmp_path: Path, cluster: FakeApiServer
) -> None:
    """What was relayed while it was dead is heard at its start, and one it had heard only once."""
    async with _daemon(tmp_path, cluster, last=signal.SIGKILL) as watcher:
        _relay(cluster, "a")
        await watcher.shows("stop")
    _relay(cluster, "b")
    async with _daemon(tmp_path, cluster) as watcher:
        await eventually(lambda: len((watcher.flag() or {}).get("also", ())) == 1)
        assert "notice withdrawn" not in watcher.log
