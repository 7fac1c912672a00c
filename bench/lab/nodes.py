"""Nodes of a bench: a simulated EC2 and a daemon each, as processes, and the flag's arrivals."""

import asyncio
import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from time import monotonic

import aiohttp
from inotify_simple import INotify, flags

FLAG = "notice.json"
START_LIMIT_S = 60.0
"""Longest wait for a process to be ready; a dozen start at once, on few cores."""

DAEMON = ("-m", "watcher")
"""What Python runs as the watcher."""

_READY = re.compile(r" (?:listening on |ready listen=)(\S+)")
_LOOK_S = 0.05


class Arrivals:
    """When each fact was first seen, by the word that tells it from the others."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    def note(self, word: str) -> None:
        """Note that a fact is seen now; only the first time counts."""
        self._seen.setdefault(word, monotonic())
        task = asyncio.get_running_loop().create_task(self._tell())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def when(self, word: str) -> float:
        """Wait for a fact, and return when it was seen, on the monotonic clock."""
        async with self._changed:
            await self._changed.wait_for(lambda: word in self._seen)
        return self._seen[word]

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


class Node:
    """A node with its own cloud: take it away, and see when its flag says so."""

    def __init__(self, url: str, run_dir: Path, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.flags = Arrivals()
        self._run_dir = run_dir
        self._session = session

    async def issue(self, left_s: float) -> str:
        """Let the cloud take the instance in ``left_s`` seconds; return the time it states.

        A time that has passed is stated as EC2 would: the notice was issued before.
        """
        body = {"window_s": max(left_s, 0.0), "ago_s": max(-left_s, 0.0)}
        async with self._session.post(f"{self.url}/simulator/notice", json=body) as answer:
            answer.raise_for_status()
            document = await answer.json()
        return str(document["notice"]["time"])

    def look(self) -> None:
        """Read the flag, which has just been put in place."""
        with contextlib.suppress(FileNotFoundError):
            flag = json.loads((self._run_dir / FLAG).read_text(encoding="ascii"))
            self.flags.note(flag["detail"]["time"])


@contextlib.asynccontextmanager
async def nodes(count: int, session: aiohttp.ClientSession) -> AsyncIterator[list[Node]]:
    """Run so many nodes inside the block; their processes end with it."""
    async with contextlib.AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places = [directory / str(number) for number in range(count)]
        for place in places:
            place.mkdir()
        # One after the other: started at once they would only slow each other down.
        running = [await stack.enter_async_context(_node(place, session)) for place in places]
        inotify = stack.enter_context(INotify())
        by_watch = {
            inotify.add_watch(place, flags.MOVED_TO): node
            for place, node in zip(places, running, strict=True)
        }

        def on_events() -> None:
            for event in inotify.read(timeout=0):
                if event.name == FLAG:
                    by_watch[event.wd].look()

        loop = asyncio.get_running_loop()
        loop.add_reader(inotify.fileno(), on_events)
        try:
            yield running
        finally:
            loop.remove_reader(inotify.fileno())


@contextlib.asynccontextmanager
async def _node(run_dir: Path, session: aiohttp.ClientSession) -> AsyncIterator[Node]:
    log = run_dir.with_suffix(".log")
    async with watcher_process("simulate", "aws", "--port=0", "--quiet", log=log) as url:
        options = (f"--metadata-endpoint={url}", f"--run-dir={run_dir}", "--listen=127.0.0.1:0")
        async with watcher_process("run", "--cloud=aws", *options, log=log.with_suffix(".run.log")):
            yield Node(url, run_dir, session)


@contextlib.asynccontextmanager
async def watcher_process(
    *arguments: str, log: Path, niceness: str = "0", **variables: str
) -> AsyncIterator[str]:
    """Run a command of the watcher, and give the URL at which it listens once it is ready."""
    async with watcher_program(*arguments, log=log, niceness=niceness, **variables) as (_, url):
        yield url


@contextlib.asynccontextmanager
async def watcher_program(
    *arguments: str,
    log: Path,
    niceness: str = "0",
    program: Sequence[str] = DAEMON,
    **variables: str,
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run a command of the watcher, and give its process and the URL at which it listens.

    A ``niceness`` below 0 is had only as root; without, the process runs as all others do.
    """
    environment = {name: word for name, word in os.environ.items() if not name.startswith("AWS_")}
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *("nice", "-n", niceness, sys.executable, *program, *arguments),
            stdout=file,
            stderr=file,
            env={**environment, **variables},
        )
    try:
        yield process, await _ready(process, log)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _ready(process: asyncio.subprocess.Process, log: Path) -> str:
    async with asyncio.timeout(START_LIMIT_S):
        while process.returncode is None:
            for line in _lines(log):
                if found := _READY.search(line):
                    return found[1]
            await asyncio.sleep(_LOOK_S)
    raise RuntimeError("a process has ended: " + "\n".join(_lines(log)))


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines()
