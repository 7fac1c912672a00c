"""A VM of Compute Engine's whose value is flipped, and the handlers that wait for that."""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from inotify_simple import INotify, flags

from lab.bare import bare_handler
from lab.nodes import FLAG, watcher_process
from lab.polling import PollingHandler
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving

POLLS_S = (1.0, 5.0)
EVENT = "TERMINATE_ON_HOST_MAINTENANCE"
NONE = "NONE"
KEY = "/computeMetadata/v1/instance/maintenance-event"

NICENESS = "-10"
"""Ten times the weight of a process of the usual niceness, as CPUWeight=1000 is of the usual 100.
Source: kernel/sched/core.c, sched_prio_to_weight (read 2026-11-30)."""

TMPFS = Path("/dev/shm")  # noqa: S108 - memory, which the run directory is on as well


class Orders:
    """When the simulator was last told to change; how the word got there is nobody's delay."""

    def __init__(self) -> None:
        self.last = 0.0

    def noted(self) -> Middleware:
        """Return what notes an order that has arrived, before anything is done about it."""

        @web.middleware
        async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.method == "POST":
                self.last = monotonic()
            return await handler(request)

        return note


class Flag:
    """When a handler's flag has come and gone, in that order."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.directory = directory
        self._moves: asyncio.Queue[tuple[bool, float]] = asyncio.Queue()

    def moved(self, *, is_there: bool) -> None:
        """Note that it has come or gone now."""
        self._moves.put_nowait((is_there, monotonic()))

    async def when(self, *, is_there: bool) -> float:
        """Wait until it has come or gone, and return when."""
        while True:
            was_there, at = await self._moves.get()
            if was_there is is_there:
                return at


@dataclass(frozen=True, slots=True)
class Vm:
    """A VM, who changes its value, and what the handlers make of it."""

    url: str
    session: aiohttp.ClientSession
    orders: Orders
    ours: Flag
    bare: Flag
    polls: dict[float, PollingHandler]

    async def flip(self) -> float:
        """Let the server announce the event; return the instant just before.

        It does so only to those who have read the key since the last event, as Google does.
        """
        while await self._say(EVENT) != EVENT:
            pass
        return self.orders.last

    async def clear(self) -> None:
        """Let the server say NONE, and return when both flags are gone."""
        await self._say(NONE)
        await asyncio.gather(*(flag.when(is_there=False) for flag in (self.ours, self.bare)))

    async def _say(self, value: str) -> str:
        url = f"{self.url}/simulator/maintenance_event"
        async with self.session.post(url, json={"value": value}) as answer:
            answer.raise_for_status()
            return str((await answer.json())["maintenance_event"])


async def running_vm(session: aiohttp.ClientSession, stack: contextlib.AsyncExitStack) -> Vm:
    """Start a VM, its daemon and the other handlers; they end with the stack."""
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=TMPFS)))
    app, orders = make_app(GcpScenario(), ScenarioClock()), Orders()
    app.middlewares.insert(0, orders.noted())
    url = await stack.enter_async_context(serving(app, "127.0.0.1", 0))
    polls = {every_s: PollingHandler(every_s, url + KEY, session) for every_s in POLLS_S}
    for poll in polls.values():
        await stack.enter_async_context(poll.running())
    await asyncio.gather(*(poll.sees(NONE) for poll in polls.values()))
    ours, bare = Flag(directory / "ours"), Flag(directory / "bare")
    stack.enter_context(_watching(ours, bare))
    run = ("run", "--cloud=gcp", f"--run-dir={ours.directory}", "--listen=127.0.0.1:0")
    host, log = urlsplit(url).netloc, directory / "daemon.log"
    await stack.enter_async_context(
        watcher_process(*run, log=log, niceness=NICENESS, GCE_METADATA_HOST=host)
    )
    await stack.enter_async_context(bare_handler(host, KEY, bare.directory, niceness=NICENESS))
    return Vm(url, session, orders, ours, bare, polls)


@contextlib.contextmanager
def _watching(*watched: Flag) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    with INotify() as inotify:
        mask = flags.MOVED_TO | flags.DELETE
        by_watch = {inotify.add_watch(flag.directory, mask): flag for flag in watched}

        def on_events() -> None:
            for event in inotify.read(timeout=0):
                if event.name == FLAG:
                    by_watch[event.wd].moved(is_there=bool(event.mask & flags.MOVED_TO))

        loop.add_reader(inotify.fileno(), on_events)
        try:
            yield
        finally:
            loop.remove_reader(inotify.fileno())
