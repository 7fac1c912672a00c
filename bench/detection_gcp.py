"""How long it takes from a word of Compute Engine's metadata server to the flag on the node.

Real time, a real daemon: a simulated VM, and beside the daemon two handlers that poll the same
server every second and every 5 s. At random moments `maintenance-event` says that the VM is
terminated, and some time later NONE again, which takes the flag away.

  ours  from just before the simulator is told to flip the value, to the flag file (inotify); the
        run directory is on tmpfs
  poll  from the same instant to the poll that sees it; only some flips last long enough for that

All of it once on an idle machine and once with every core busy. The metadata server and whoever
looks at the flag are this process, which gets ahead of others where it may (as root): on a real
node neither is a program on its cores. The daemon has the usual priority.

The last line is one JSON object. Exit status 1 when the target is missed: the 99th percentile of
ours is above 20 ms, idle or busy.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import aiohttp
import numpy as np
from inotify_simple import INotify, flags
from lab.busy import busy_cores
from lab.intervals import median_interval
from lab.machine import machine
from lab.nodes import FLAG, watcher_process
from lab.polling import PollingHandler
from rich.progress import Progress

from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving

P99_TARGET_S = 0.020
"""A change is pushed, so what is left is our own way from the bytes to the file."""

POLLS_S = (1.0, 5.0)
EVENT = "TERMINATE_ON_HOST_MAINTENANCE"
NONE = "NONE"
KEY = "/computeMetadata/v1/instance/maintenance-event"

REST_S = (0.1, 1.1)
"""Between two flips, in seconds: at random, so that none falls on a wait's renewal by design."""

FLIP_LIMIT_S = 20.0
TMPFS = Path("/dev/shm")  # noqa: S108 - memory, which the run directory is on as well


@dataclass(slots=True)
class Samples:
    """What the flips took, in seconds."""

    ours_s: list[float] = field(default_factory=list)
    polls_s: dict[float, list[float]] = field(
        default_factory=lambda: {every_s: [] for every_s in POLLS_S}
    )


class Node:
    """A VM and its flag: flip the value, and see when the flag comes and goes."""

    def __init__(self, url: str, run_dir: Path, session: aiohttp.ClientSession) -> None:
        self._url = f"{url}/simulator/maintenance_event"
        self._flag = run_dir / FLAG
        self._session = session
        self._moves: asyncio.Queue[tuple[bool, float]] = asyncio.Queue()

    def moved(self, *, is_there: bool) -> None:
        """Note that the flag has come or gone."""
        self._moves.put_nowait((is_there, monotonic()))

    async def flip(self) -> float:
        """Let the server announce the event; return the instant just before.

        It does so only to those who have read the key since the last event, as Google does.
        """
        while True:
            began = monotonic()
            if await self._say(EVENT) == EVENT:
                return began

    async def clear(self) -> None:
        """Let the server say NONE, and return when the flag is gone."""
        await self._say(NONE)
        await self.flagged(is_there=False)

    async def flagged(self, *, is_there: bool) -> float:
        """Wait until the flag has come or gone, and return when."""
        while True:
            was_there, at = await self._moves.get()
            if was_there is is_there:
                return at

    async def _say(self, value: str) -> str:
        async with self._session.post(self._url, json={"value": value}) as answer:
            answer.raise_for_status()
            return str((await answer.json())["maintenance_event"])


def main() -> None:
    """Measure, show the figures, and end the process with 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--flips", type=int, default=300, metavar="N", help="idle, and again busy (%(default)s)")
    add("--held", type=int, default=20, metavar="N", help="of them, for the polls (%(default)s)")
    arguments = parser.parse_args()
    if not 1 <= arguments.held <= arguments.flips:
        parser.error("--held has to be at least 1, and --flips no less")
    is_ahead = get_ahead()
    idle = asyncio.run(measure("idle", arguments.flips, arguments.held))
    with busy_cores():
        busy = asyncio.run(measure("busy", arguments.flips, arguments.held))
    result = result_of(idle, busy)
    print(table(idle, busy))
    print(json.dumps({**result, "is_ahead": is_ahead, "machine": machine()}))
    sys.exit(1 if result["missed"] else 0)


def get_ahead() -> bool:
    """Let this thread run whenever it can, but none that it starts; tell whether that worked."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        return False
    return True


async def measure(name: str, flips: int, held: int) -> Samples:
    """Return what so many flips took, of which ``held`` last until every poll has seen them."""
    samples = Samples()
    every = max(1, flips // held)
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        )
        node, polls = await stack.enter_async_context(_running(session))
        with Progress(transient=True) as progress:
            for number in progress.track(range(flips), description=name):
                is_held = number % every == 0
                if is_held:  # or a poll would still see the flip before
                    await asyncio.gather(*(poll.sees(NONE) for poll in polls.values()))
                await asyncio.sleep(random.uniform(*REST_S))  # noqa: S311 - a phase, not a secret
                async with asyncio.timeout(FLIP_LIMIT_S):
                    flipped = await node.flip()
                    samples.ours_s.append(await node.flagged(is_there=True) - flipped)
                    if is_held:
                        for every_s, poll in polls.items():
                            samples.polls_s[every_s].append(await poll.sees(EVENT) - flipped)
                await asyncio.sleep(random.uniform(*REST_S))  # noqa: S311 - likewise
                async with asyncio.timeout(FLIP_LIMIT_S):
                    await node.clear()
    return samples


@contextlib.asynccontextmanager
async def _running(
    session: aiohttp.ClientSession,
) -> AsyncIterator[tuple[Node, dict[float, PollingHandler]]]:
    """Run a VM, its daemon and the polls inside the block."""
    async with contextlib.AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=TMPFS)))
        run_dir = directory / "run"
        run_dir.mkdir()
        app = make_app(GcpScenario(), ScenarioClock())
        url = await stack.enter_async_context(serving(app, "127.0.0.1", 0))
        polls = {every_s: PollingHandler(every_s, url + KEY, session) for every_s in POLLS_S}
        for poll in polls.values():
            await stack.enter_async_context(poll.running())
        await asyncio.gather(*(poll.sees(NONE) for poll in polls.values()))
        node = Node(url, run_dir, session)
        stack.enter_context(_watching(run_dir, node))
        run = ("run", "--cloud=gcp", f"--run-dir={run_dir}", "--listen=127.0.0.1:0")
        host = urlsplit(url).netloc
        await stack.enter_async_context(
            watcher_process(*run, log=directory / "daemon.log", GCE_METADATA_HOST=host)
        )
        yield node, polls


@contextlib.contextmanager
def _watching(run_dir: Path, node: Node) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    with INotify() as inotify:
        inotify.add_watch(run_dir, flags.MOVED_TO | flags.DELETE)

        def on_events() -> None:
            for event in inotify.read(timeout=0):
                if event.name == FLAG:
                    node.moved(is_there=bool(event.mask & flags.MOVED_TO))

        loop.add_reader(inotify.fileno(), on_events)
        try:
            yield
        finally:
            loop.remove_reader(inotify.fileno())


def result_of(idle: Samples, busy: Samples) -> dict[str, object]:
    """Return the last line, but for the machine."""
    both = {"idle": idle, "busy": busy}
    return {
        "bench": "detection_gcp",
        "target": {"p99_s": P99_TARGET_S},
        "missed": any(_p99(samples.ours_s) > P99_TARGET_S for samples in both.values()),
        **{
            name: {
                "flips": len(samples.ours_s),
                "ours": _figure(samples.ours_s),
                **{
                    f"poll_{every_s:g}s": _figure(seconds)
                    for every_s, seconds in samples.polls_s.items()
                },
            }
            for name, samples in both.items()
        },
    }


def _figure(seconds: Sequence[float]) -> dict[str, object]:
    return {
        "samples": len(seconds),
        "median_s": median_interval(seconds).to_json(),
        "p99_s": round(_p99(seconds), 4),
        "max_s": round(max(seconds), 4),
    }


def _p99(seconds: Sequence[float]) -> float:
    return float(np.percentile(seconds, 99))


def table(idle: Samples, busy: Samples) -> str:
    """Return the figures for people."""
    lines = [f"{'ms to the act':24}{'median':>9}{'p99':>9}{'max':>9}   samples"]
    for name, samples in (("idle", idle), ("busy", busy)):
        polls = {f"poll {every_s:g} s": seconds for every_s, seconds in samples.polls_s.items()}
        for handler, seconds in {"ours": samples.ours_s, **polls}.items():
            shown = (median_interval(seconds).median, _p99(seconds), max(seconds))
            figures = "".join(f"{1000 * figure:9.1f}" for figure in shown)
            lines.append(f"  {name}  {handler:16}{figures}   {len(seconds)}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
