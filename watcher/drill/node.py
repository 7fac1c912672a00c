"""A node for a drill: a simulated cloud and the watcher, as processes, and a run directory."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from watcher.errors import SourceError, StartFailed
from watcher.httpclient import HttpClient
from watcher.trainers import DIRECTORY

Process = asyncio.subprocess.Process

_START_LIMIT_S = 60.0
_END_LIMIT_S = 10.0
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Node:
    """What the job is on."""

    run_dir: Path
    cloud: str
    """Base URL of the simulator."""

    async def give_notice(self, window_s: float) -> None:
        """Announce that the node is taken.

        Raises:
            StartFailed: The simulator does not answer.
        """
        said = f'{{"window_s": {window_s}}}'.encode()
        headers = {"Content-Type": "application/json"}
        try:
            async with HttpClient(self.cloud, _END_LIMIT_S) as client:
                await client.call("POST", "/simulator/notice", headers, said)
        except SourceError as error:
            raise StartFailed(f"the simulated cloud does not answer: {error}") from error


@asynccontextmanager
async def node() -> AsyncIterator[Node]:
    """Start a node, and end it after the block.

    Raises:
        StartFailed: It does not come up.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-drill-")))
        run_dir = folder / "run"
        (run_dir / DIRECTORY).mkdir(parents=True)
        log = folder / "log"
        simulate = ("simulate", "aws", "--port=0", "--quiet")
        simulator = await stack.enter_async_context(_ours(simulate, log))
        cloud = await _url(simulator, log)
        run = ("run", "--cloud=aws", f"--metadata-endpoint={cloud}", f"--run-dir={run_dir}")
        nobody = ("--listen=127.0.0.1:0", "--node=drill")
        daemon = await stack.enter_async_context(_ours((*run, *nobody), log))
        await _until_ready(daemon, log)
        yield Node(run_dir, cloud)


@asynccontextmanager
async def job(command: Sequence[str], run_dir: Path) -> AsyncIterator[Process]:
    """Start the job on a node; what it says goes to standard error. It ends with the block.

    Raises:
        StartFailed: There is no such program.
    """
    # In the job's ledger this is no interruption: docs/contracts.md.
    environment = {**os.environ, "REPRIEVE_RUN_DIR": str(run_dir), "REPRIEVE_IN_DRILL": "1"}
    environment.pop("REPRIEVE_NOTICE_URL", None)  # of the node that the drill itself is on
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=sys.stderr, env=environment, start_new_session=True
        )
    except OSError as error:
        raise StartFailed(f"{command[0]}: {error.strerror}") from error
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@asynccontextmanager
async def _ours(words: Sequence[str], log: Path) -> AsyncIterator[Process]:
    """Run a command of this program; without the settings that are meant for this node."""
    mine = ("REPRIEVE_", "AWS_")
    environment = {key: text for key, text in os.environ.items() if not key.startswith(mine)}
    with log.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "watcher", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the drill, which ends them itself
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _END_LIMIT_S)
            except TimeoutError:
                process.kill()
                await process.wait()


async def _url(simulator: Process, log: Path) -> str:
    assert simulator.stdout is not None  # noqa: S101 - it was asked for a few lines above
    try:
        line = await asyncio.wait_for(simulator.stdout.readline(), _START_LIMIT_S)
        return line.decode().split()[-1]
    except (TimeoutError, IndexError) as error:
        raise StartFailed(f"the simulated cloud does not start: {_said(log)}") from error


async def _until_ready(daemon: Process, log: Path) -> None:
    try:
        async with asyncio.timeout(_START_LIMIT_S):
            while " ready listen=" not in _said(log):
                if daemon.returncode is not None:
                    break
                await asyncio.sleep(_LOOK_S)
            else:
                return
    except TimeoutError:
        pass
    raise StartFailed(f"the watcher does not start: {_said(log)[-500:]}")


def _said(log: Path) -> str:
    return log.read_text(errors="replace")
