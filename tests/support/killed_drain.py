"""A drain by a daemon as a process, which dies of SIGKILL at calls that the test chooses."""

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.kube.access import ADMIN, Call
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.told_by_program import Polled
from tests.support.watcher_process import WatcherProcess
from watcher.simulator.aws.identity import DEFAULT_INSTANCE_ID
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

NODE = "node-a"
BUDGETED = {"app": "web"}
ENDED_S = 120
"""Longest that one daemon may take to drain the Node, in seconds."""

FURTHER_CALLS = 2
"""How many calls a process may make at most that lives on for a moment after its last: on a loaded
machine a moment would else be enough for all of the drain."""

LOOKS = 30
"""How often a pod that ends is looked at before it is gone: a daemon that starts sees it then."""


class Calls(list[Call]):
    """The calls that the API server has seen, one of which is a process's last."""

    def __init__(self) -> None:
        super().__init__()
        self.pid = 0
        self.left = 0
        """How many calls the process may still make; 0 for any number."""
        self.counts_nodes = False
        """Whether those about the Node are among them."""
        self.after_s = 0.0
        """Seconds that it lives on after the last one, as it may be in the middle of anything."""
        self.has_killed = False
        self._further = 0
        self._dying: asyncio.TimerHandle | None = None

    def append(self, call: Call) -> None:
        """Note a call, and end the process if it was its last one: at once, it has no answer."""
        super().append(call)
        if call.verb == "watch" or (call.resource == "nodes" and not self.counts_nodes):
            return
        if self._dying is not None:
            self._further -= 1
            if self._further == 0:
                self._kill()
        elif self.left:
            self.left -= 1
            if self.left == 0:
                self.has_killed = True
                self._end()

    def _end(self) -> None:
        if not self.after_s:
            self._kill()
            return
        self._further = FURTHER_CALLS
        self._dying = asyncio.get_running_loop().call_later(self.after_s, self._kill)

    def _kill(self) -> None:
        if self._dying is not None:
            self._dying.cancel()
            self._dying = None
        os.kill(self.pid, signal.SIGKILL)


class KilledDrain:
    """A Node with pods, somebody who gives notice, and daemons one after another."""

    def __init__(self, server: FakeApiServer, root: Path, cloud: str) -> None:
        self.server, self.cluster = server, server.cluster
        self.calls = Calls()
        server.access.calls = self.calls
        self._root, self._cloud = root, cloud
        self._notice = Polled(root)
        self.daemon: WatcherProcess | None = None
        token = root / "token"
        token.write_text(ADMIN)
        (root / "run").mkdir()
        self._config = root / "watcher.toml"
        self._config.write_text(
            "[command]\n"
            f"argv = {json.dumps(self._notice.argv)}\n"
            'mode = "status"\ninterval_s = 0.2\nkind = "preemption"\nwindow_s = 300\n'
        )

    def give_notice(self) -> None:
        """Give notice."""
        self._notice.answers(0)

    def take_back(self) -> None:
        """Withdraw it."""
        self._notice.answers(1)

    async def start(
        self, *, calls: int = 0, counts_nodes: bool = False, after_s: float = 0.0
    ) -> WatcherProcess:
        """Start a daemon that may make so many calls, or any number; see :class:`Calls`."""
        self.calls.left, self.calls.has_killed = 0, False
        self.calls.counts_nodes, self.calls.after_s = counts_nodes, after_s
        self.daemon = await WatcherProcess.start(
            self._root / "run",
            self._cloud,
            f"--config={self._config}",
            REPRIEVE_KUBERNETES_URL=self.server.url,
            REPRIEVE_KUBERNETES_TOKEN_FILE=str(self._root / "token"),
        )
        self.calls.pid, self.calls.left = self.daemon.process.pid, calls
        return self.daemon

    def granted(self) -> list[str]:
        """Return the name of a pod for each time that it was asked to end."""
        return [call.name for call in self._asked() if call.status in (200, 201)]

    def in_vain(self) -> list[str]:
        """Return the name of a pod for each time that it was asked to end after it was gone."""
        return [call.name for call in self._asked() if call.status in (404, 409)]

    def _asked(self) -> list[Call]:
        wanted = (("create", "pods/eviction"), ("delete", "pods"))
        return [call for call in self.calls if (call.verb, call.resource) in wanted]


async def _play_kubelet(drain: KilledDrain) -> None:
    """Let pods end, each some looks after it was asked to, and their budget allow others to."""
    looks: Counter[str] = Counter()
    while True:
        await asyncio.sleep(0.05)
        for name in drain.cluster.terminating():
            looks[name] += 1
            if looks[name] > LOOKS:
                drain.cluster.finish_pod(name)
                drain.cluster.allow("web", 3)


@asynccontextmanager
async def killed_drain(root: Path, pods: int) -> AsyncIterator[KilledDrain]:
    """Run a cluster in which every third pod is under a budget of three at a time."""
    machine = f"aws:///eu-west-1a/{DEFAULT_INSTANCE_ID}"
    async with (
        fake_api_server() as server,
        serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as cloud,
    ):
        drain = KilledDrain(server, root, cloud)
        server.cluster.add_node(NODE, provider_id=machine)
        for number in range(pods):
            labels = BUDGETED if number % 3 == 0 else {}
            server.cluster.add_pod(f"pod-{number:02}", NODE, labels=labels)
        server.cluster.add_pod("agent", NODE, owner="DaemonSet")
        server.cluster.add_budget("web", BUDGETED, allowed=3)
        kubelet = asyncio.create_task(_play_kubelet(drain))
        try:
            yield drain
        finally:
            kubelet.cancel()
            await asyncio.gather(kubelet, return_exceptions=True)
            if drain.daemon is not None:
                await drain.daemon.end()


async def ended(drain: KilledDrain) -> bool:
    """Wait until the daemon has died or has drained the Node; tell whether it has died."""
    daemon = drain.daemon
    assert daemon is not None
    said = daemon.log.count("what=drained")

    def has_ended() -> bool:
        assert daemon is not None
        return daemon.process.returncode is not None or daemon.log.count("what=drained") > said

    async with asyncio.timeout(ENDED_S):  # blocked pods are asked again every 5 s
        while not has_ended():  # noqa: ASYNC110 - what is waited for is in a file or another process
            await asyncio.sleep(0.01)
    drain.calls.left = 0  # one that has drained the Node lives on, unless it was its last call
    if drain.calls.has_killed:
        await daemon.process.wait()
    return drain.calls.has_killed
