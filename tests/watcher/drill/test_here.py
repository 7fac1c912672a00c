"""A drill by the running daemon: the real daemon, trainers that speak the contract, and the CLI."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import simulator_process

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(240),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may ask for a drill"),
]

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

    async def drill(self, *words: str) -> tuple[int | None, str, str]:
        """Ask for one as a person does; return the status and what is said."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "watcher", "drill", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.settings,
        )
        printed, said = await process.communicate()
        return process.returncode, printed.decode(), said.decode()


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Node]:
    """Run a simulated cloud, and the daemon."""
    node = Node(directory)
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


async def test_trainers_stop_and_go_on_when_root_drills_them(tmp_path: Path) -> None:
    """They see a drill, the node sees none of it, and the flag goes when they have saved."""
    async with running(tmp_path) as node:
        first = await node.trainer("a", "hears")
        await eventually((node.run_dir / "trainers" / "a.json").exists)

        async def again() -> None:
            assert await first.wait() == 75
            await eventually(lambda: not (node.run_dir / "notice.json").exists())
            await node.trainer("b", "hears", 10_000)

        starting = asyncio.create_task(again())
        kept, page = tmp_path / "drills.jsonl", tmp_path / "drill.html"
        status, printed, said = await node.drill(
            "--json", f"--history={kept}", f"--picture={page}", "--window=100"
        )
        await starting
        report: dict[str, Any] = json.loads(printed or "{}")
        assert (status, report.get("survived")) == (0, True), said + printed
        assert 0 <= report["committed_s"] <= report["ended_s"] < 100
        assert report["resumed_step"] > 10_000
        assert report["code"] is None
        assert "Drill on node-7" in await asyncio.to_thread(page.read_text)
        status, printed, _ = await node.drill("history", f"--history={kept}")
        assert (status, "node-7" in printed, "median" in printed) == (0, True, True)


@pytest.mark.slow
async def test_drill_is_lost_and_can_be_cleared_when_a_trainer_hears_nothing(
    tmp_path: Path,
) -> None:
    """It would have been cut off."""
    async with running(tmp_path) as node:
        await node.trainer("a", "deaf")
        await eventually((node.run_dir / "trainers" / "a.json").exists)
        drilling = asyncio.create_task(node.drill("--window=20", "--no-resume"))
        await eventually((node.run_dir / "notice.json").exists)
        status, printed, _ = await node.drill("clear")
        assert (status, printed) == (0, "the drill is over\n")
        await eventually(lambda: not (node.run_dir / "notice.json").exists())
        status, printed, said = await drilling
        assert status == 1, said
        assert "did not end before the node would have been gone" in printed
        status, printed, _ = await node.drill("clear")
        assert (status, printed) == (0, "there was no drill\n")


async def test_drill_says_what_is_missing_when_nobody_can_be_drilled(tmp_path: Path) -> None:
    """Exit status 78: another try comes to the same."""
    node = Node(tmp_path)
    await asyncio.to_thread(node.run_dir.mkdir)
    status, _, said = await node.drill()
    assert (status, "no trainer on this node" in said) == (78, True)
    del node.settings["REPRIEVE_DRILL_SOCKET"]
    status, _, said = await node.drill("clear")
    assert (status, "no drill.socket is set" in said) == (78, True)
