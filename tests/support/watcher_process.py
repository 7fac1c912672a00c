"""The daemon and the simulator as processes, as a user starts them."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiohttp

from tests.support.clocks import eventually

NOBODY = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "REPRIEVE_AZURE_METADATA_ENDPOINT": "http://127.0.0.1:9",
}
"""Where nobody answers: a proxy that must not be asked, and the clouds that a test leaves out."""

READY = re.compile(r"ready listen=(http\S+)")


class WatcherProcess:
    """One run of ``reprieve-watcher run`` with its log in a file; started with :meth:`start`."""

    def __init__(self, process: asyncio.subprocess.Process, run_dir: Path, log: Path) -> None:
        self.process = process
        self.flag_path = run_dir / "notice.json"
        self.was_ended = False
        """Whether the test itself has ended it; else it must not end."""
        self._log = log

    @classmethod
    async def start(cls, run_dir: Path, endpoint: str, *options: str, **environment: str) -> Self:
        """Start it; every run has a proxy in its environment that leads nowhere."""
        log = run_dir.parent / f"{run_dir.name}.log"
        with log.open("a") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "watcher",
                "run",
                "--cloud=aws",
                f"--metadata-endpoint={endpoint}",
                f"--run-dir={run_dir}",
                "--listen=127.0.0.1:0",
                "--node=node-a",
                *options,
                stderr=stderr,
                env={**os.environ, **NOBODY, **environment},
            )
        return cls(process, run_dir, log)

    @property
    def log(self) -> str:
        """Everything that it and earlier runs on the run directory have logged.

        A line comes a moment after what it tells of; :meth:`said` waits for it.
        """
        return self._log.read_text()

    async def said(self, words: str, *, times: int = 1) -> int:
        """Wait until the log has the words so many times, and return how often it has them."""
        await eventually(lambda: self.log.count(words) >= times)
        return self.log.count(words)

    def flag(self) -> dict[str, Any] | None:
        """Read the flag file; None when there is none."""
        try:
            content: dict[str, Any] = json.loads(self.flag_path.read_text())
        except FileNotFoundError:
            return None
        return content

    async def shows(self, urgency: str) -> dict[str, Any]:
        """Wait for a flag of this urgency, and return it."""
        await eventually(lambda: (self.flag() or {}).get("urgency") == urgency)
        flag = self.flag()
        assert flag is not None
        return flag

    async def ask(self, path: str) -> tuple[int, str]:
        """Ask one of its faces, once it is ready."""
        await eventually(lambda: READY.search(self.log))
        url = READY.findall(self.log)[-1]
        async with aiohttp.ClientSession() as session, session.get(url + path) as response:
            return response.status, await response.text()

    async def answers(self, path: str, status: int) -> str:
        """Wait until a face answers with this status, and return the body."""
        async with asyncio.timeout(20):
            while (answer := await self.ask(path))[0] != status:  # noqa: ASYNC110 - another process's state has no event
                await asyncio.sleep(0.02)
        return answer[1]

    async def state(self) -> dict[str, Any]:
        """Return /v1/state."""
        document: dict[str, Any] = json.loads((await self.ask("/v1/state"))[1])
        return document

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it, and return its exit status."""
        self.was_ended = True
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(20):
            return await self.process.wait()


@asynccontextmanager
async def daemon_process(
    run_dir: Path, endpoint: str, *options: str, **environment: str
) -> AsyncIterator[WatcherProcess]:
    """Run the daemon inside the block; it ends with 0 on SIGTERM, and not before."""
    watcher = await WatcherProcess.start(run_dir, endpoint, *options, **environment)
    try:
        yield watcher
        if not watcher.was_ended:
            assert await watcher.end() == 0, watcher.log
    finally:
        if watcher.process.returncode is None:
            await watcher.end(signal.SIGKILL)


@asynccontextmanager
async def simulator_process(*flags: str) -> AsyncIterator[str]:
    """Run ``reprieve-watcher simulate aws`` and give its URL; it has to end with 0."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "watcher", "simulate", "aws", "--port=0", "--quiet", *flags),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        line = (await process.stdout.readline()).decode()
    try:
        yield line.split()[-1]
    finally:
        process.terminate()
        assert await process.wait() == 0


async def control(url: str, path: str, **fields: object) -> None:
    """Make something happen in the simulator."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/simulator/{path}", json=fields) as response,
    ):
        assert response.status == 200, await response.text()


async def lift_faults(url: str) -> None:
    """End every fault of the simulator."""
    async with (
        aiohttp.ClientSession() as session,
        session.delete(f"{url}/simulator/fault") as response,
    ):
        assert response.status == 200, await response.text()


async def requests_seen(url: str) -> list[dict[str, Any]]:
    """Return what the simulator has been asked for."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/simulator/requests") as response,
    ):
        document: dict[str, list[dict[str, Any]]] = await response.json()
    return document["requests"]
