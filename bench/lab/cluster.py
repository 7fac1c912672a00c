"""Nodes of a bench in a cluster, a simulated VM each, and the handlers there.

Beside each daemon is a bare handler, with a Node of its own, so that the two don't write to the
same one; one API server, and observers.

VMs, API server and observers are the bench's own process, so that all instants are on one clock.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from inotify_simple import INotify, flags

from lab.bare import TAINT, bare_handler
from lab.kube import TOKEN
from lab.nodes import FLAG, watcher_process
from tests.fakes.kube.admission import Request
from tests.fakes.kube.kinds import NODE, Obj
from tests.fakes.kube.server import FakeApiServer, fake_api_server
from tests.support.certificate import certified
from tests.support.kubectl import Kubectl
from watcher.kube.keys import RECLAIM
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.identity import DEFAULT_ID, Identity
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving

EVENT = "TERMINATE_ON_HOST_MAINTENANCE"
NONE = "NONE"

TMPFS = Path("/dev/shm")  # noqa: S108 - memory, which the run directory is on as well

NICENESS = "-10"
"""Of the daemons; detection_gcp.py says why."""

PEER = "example.com/reclaim"
"""The taint that kubectl puts on."""

_KEY = "/computeMetadata/v1/instance/maintenance-event"


class Moves:
    """When something has come or gone, in that order."""

    def __init__(self) -> None:
        self._moves: asyncio.Queue[tuple[bool, float]] = asyncio.Queue()

    def note(self, *, is_there: bool) -> None:
        """Note that it has come or gone now."""
        self._moves.put_nowait((is_there, monotonic()))

    def forget(self) -> None:
        """Forget what has been."""
        while not self._moves.empty():
            self._moves.get_nowait()

    async def when(self, *, is_there: bool) -> float:
        """Wait until it has come or gone, and return when, on the monotonic clock."""
        while True:
            was_there, at = await self._moves.get()
            if was_there is is_there:
                return at


class Seen:
    """When a handler's flag, and its taint on its Node, have come and gone."""

    def __init__(self) -> None:
        self.flag, self.taint = Moves(), Moves()

    def forget(self) -> None:
        """Forget what has been."""
        self.flag.forget()
        self.taint.forget()

    async def when(self, *, is_there: bool) -> tuple[float, float]:
        """Wait until both have come or gone, and return when."""
        flag, taint = (one.when(is_there=is_there) for one in (self.flag, self.taint))
        return await asyncio.gather(flag, taint)


class ClusterNode:
    """One node: announce its end, and see when the answer leaves and what follows.

    Args:
        name: The Node's.
        session: Carries what the simulator is told.
    """

    def __init__(self, name: str, session: aiohttp.ClientSession) -> None:
        self.name = name
        self.url = ""
        self.bare_name = f"bare-{name}"
        self.answers, self.peer_taint = Moves(), Moves()
        self.ours, self.bare = Seen(), Seen()
        self._session = session

    async def announce(self) -> None:
        """Let the metadata server announce the end of the VM.

        It does so only to those who have read the key since the last event, as Google does.
        """
        for seen in (self.answers, self.ours, self.bare):
            seen.forget()
        while await self._say(EVENT) != EVENT:
            pass

    async def call_off(self) -> None:
        """Let it say that nothing comes, and return when nothing is left of it on the node."""
        await self._say(NONE)
        await asyncio.gather(self.ours.when(is_there=False), self.bare.when(is_there=False))

    async def tainted_by(self, kubectl: Kubectl) -> float:
        """Taint the Node as a handler does that runs kubectl; return the seconds that it took."""
        began = monotonic()
        await kubectl.says("taint", "node", self.name, f"{PEER}=x:NoSchedule")
        took_s = await self.peer_taint.when(is_there=True) - began
        await kubectl.says("taint", "node", self.name, f"{PEER}-")
        await self.peer_taint.when(is_there=False)
        return took_s

    async def note_answer(self, request: web.Request, response: web.StreamResponse) -> None:
        """Note when the bytes that announce it are about to leave, to whomever first."""
        if request.path == _KEY and isinstance(response, web.Response):
            self.answers.note(is_there=response.body == EVENT.encode())

    async def _say(self, value: str) -> str:
        url = f"{self.url}/simulator/maintenance_event"
        async with self._session.post(url, json={"value": value}) as answer:
            answer.raise_for_status()
            return str((await answer.json())["maintenance_event"])


@contextlib.asynccontextmanager
async def cluster(count: int) -> AsyncIterator[tuple[list[ClusterNode], Kubectl]]:
    """Run so many nodes inside the block, and give a kubectl; the daemons end with it."""
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        )
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=TMPFS)))
        nodes = [ClusterNode(f"node-{number}", session) for number in range(count)]
        (directory / "token").write_text(TOKEN)
        tls, authority = certified(directory)
        server = await stack.enter_async_context(fake_api_server(tls=tls))
        _watch_taints(server, nodes)
        variables = {
            "REPRIEVE_KUBERNETES_URL": server.url,
            "REPRIEVE_KUBERNETES_TOKEN_FILE": str(directory / "token"),
            "REPRIEVE_KUBERNETES_AUTHORITY_FILE": str(authority),
        }
        for name in (name for node in nodes for name in (node.name, node.bare_name)):
            (directory / name).mkdir()
        stack.enter_context(_watching_flags(directory, nodes))
        # One after the other: started at once they would only slow each other down.
        for number, node in enumerate(nodes):
            await stack.enter_async_context(_vm(number, node, server))
            run = ("run", "--cloud=gcp", f"--run-dir={directory / node.name}")
            rest = (f"--node={node.name}", "--listen=127.0.0.1:0")
            host, log = urlsplit(node.url).netloc, directory / f"{node.name}.log"
            found = {**variables, "GCE_METADATA_HOST": host}
            await stack.enter_async_context(
                watcher_process(*run, *rest, log=log, niceness=NICENESS, **found)
            )
            api = (server.url, TOKEN, str(authority), node.bare_name)
            await stack.enter_async_context(
                bare_handler(host, _KEY, directory / node.bare_name, *api, niceness=NICENESS)
            )
        yield nodes, Kubectl(server.url, authority, directory)


@contextlib.asynccontextmanager
async def _vm(number: int, node: ClusterNode, server: FakeApiServer) -> AsyncIterator[None]:
    """Serve the node's metadata inside the block; its Node joins the cluster."""
    identity = Identity(id=DEFAULT_ID + number, name=node.name)
    place = f"{identity.project_id}/{identity.zone}/{node.name}"
    server.cluster.add_node(node.name, provider_id=f"gce://{place}")
    server.cluster.add_node(node.bare_name)
    app = make_app(GcpScenario(identity=identity), ScenarioClock())
    app.on_response_prepare.append(node.note_answer)
    async with serving(app, "127.0.0.1", 0) as url:
        node.url = url
        yield


def _watch_taints(server: FakeApiServer, nodes: Sequence[ClusterNode]) -> None:
    """Note each write that puts one of the taints on a Node, or takes it off, when accepted."""
    watched = {
        **{(node.name, RECLAIM): node.ours.taint for node in nodes},
        **{(node.name, PEER): node.peer_taint for node in nodes},
        **{(node.bare_name, TAINT): node.bare.taint for node in nodes},
    }

    def note(request: Request) -> None:
        if request.target.kind != NODE:
            return
        before, after = map(_taint_keys, (request.before, request.after))
        for key in before ^ after:
            if moves := watched.get((request.target.name, key)):
                moves.note(is_there=key in after)

    server.api.policies.append(note)


def _taint_keys(node: Obj) -> set[str]:
    return {taint["key"] for taint in node.get("spec", {}).get("taints", ())}


@contextlib.contextmanager
def _watching_flags(directory: Path, nodes: Sequence[ClusterNode]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    with INotify() as inotify:
        wanted = flags.MOVED_TO | flags.DELETE
        flags_of = {
            **{node.name: node.ours.flag for node in nodes},
            **{node.bare_name: node.bare.flag for node in nodes},
        }
        by_watch = {
            inotify.add_watch(directory / name, wanted): moves for name, moves in flags_of.items()
        }

        def on_events() -> None:
            for event in inotify.read(timeout=0):
                if event.name == FLAG:
                    by_watch[event.wd].note(is_there=bool(event.mask & flags.MOVED_TO))

        loop.add_reader(inotify.fileno(), on_events)
        try:
            yield
        finally:
            loop.remove_reader(inotify.fileno())
