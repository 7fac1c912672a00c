"""A node with the real daemon, and trainers of a few lines on it that speak the contract."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.watcher_process import simulator_process

TRAINER = """\
import json, os, sys, time
from datetime import UTC, datetime
from pathlib import Path

run, name, how = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
step, said_at = int(sys.argv[4]), None
at = lambda: datetime.now(UTC).isoformat()
committed_at, noticed_at = at(), None

def tell(state):
    said = {"schema": 1, "boot_id": boot, "pod_uid": None, "state": state, "step": step,
            "heartbeat_boottime_s": time.clock_gettime(time.CLOCK_BOOTTIME),
            "committed_step": step, "committed_at": committed_at, "noticed_at": noticed_at}
    (run / "trainers" / name).write_text(json.dumps(said))
    (run / "trainers" / name).rename(run / "trainers" / (name + ".json"))

while True:
    step += 1
    flag = run / "notice.json"
    if flag.exists() and how != "deaf":
        said = json.loads(flag.read_text())
        assert said["drill"] is True and said["kind"] == "drill", said
        noticed_at = committed_at = at()
        tell("saved")
        tell("exited")
        sys.exit(75)
    tell("running")
    time.sleep(0.05)
"""


class Node:
    """A node with its daemon, and a trainer on it that is started again."""

    def __init__(self, directory: Path) -> None:
        self.run_dir = directory / "run"
        self.settings = {
            **os.environ,
            "REPRIEVE_CLOUD": "aws",
            "REPRIEVE_RUN_DIR": str(self.run_dir),
            "REPRIEVE_NODE": "node-7",
            "REPRIEVE_DRILL_SOCKET": str(directory / "drill.sock"),
            "REPRIEVE_FACES_LISTEN": "127.0.0.1:0",
        }

        self.trainers: list[asyncio.subprocess.Process] = []

    async def trainer(self, name: str, how: str, step: int = 0) -> asyncio.subprocess.Process:
        """Start one."""
        argv = ("-c", TRAINER, str(self.run_dir), name, how, str(step))
        started = await asyncio.create_subprocess_exec(sys.executable, *argv)
        self.trainers.append(started)
        return started

    async def drill(
        self, *words: str, given: str = "", speaks: asyncio.Event | None = None
    ) -> tuple[int | None, str, str]:
        """Ask for one as a person does; return the status and what is said.

        Args:
            words: What follows the command.
            given: What is on its standard input.
            speaks: Set when it has said a first line.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "watcher", "drill", *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.settings,
        )
        first = b""
        if speaks is not None:
            assert process.stderr is not None
            first = await process.stderr.readline()
            speaks.set()
        printed, said = await process.communicate(given.encode())
        return process.returncode, printed.decode(), (first + said).decode()


@asynccontextmanager
async def running(directory: Path, **settings: str) -> AsyncIterator[Node]:
    """Run a simulated cloud, and the daemon with these variables more."""
    node = Node(directory)
    node.settings |= settings
    await asyncio.to_thread((node.run_dir / "trainers").mkdir, parents=True)
    async with simulator_process() as url:
        node.settings["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = url
        daemon = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "watcher", "run"),
            stderr=asyncio.subprocess.PIPE,
            env=node.settings,
        )
        try:
            assert daemon.stderr is not None
            while b" ready listen=" not in await daemon.stderr.readline():
                pass
            yield node
        finally:
            for trainer in node.trainers:
                if trainer.returncode is None:
                    trainer.kill()
                await trainer.wait()
            daemon.terminate()
            await daemon.communicate()


async def until(holds: Callable[[], object]) -> None:
    """Wait for as long as the test may take: whole processes start on a machine that is busy."""
    while not holds():  # noqa: ASYNC110 - what is waited for is in a file or another process
        await asyncio.sleep(0.02)
