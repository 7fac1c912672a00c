"""How soon a notice is acted on that came while EC2's metadata service, or the daemon, was away.

Real time, real processes: a simulated instance and a daemon for each case, all side by side. For
half a minute the service hangs, resets connections, is not there, or answers 503 or 429; or the
daemon is killed, or stands still. Meanwhile the notice appears. The time runs from the moment that
the service answers again (or the daemon is started or goes on) to the flag's own stamp.

  hang, reset, gone   the service is back: one poll, which is at most a second away
  503, 429            likewise, but the source has backed off: at most one step of it
  killed, stopped     the daemon is back: what a start of Python takes, or nothing
  events hang         only the scheduled events hang, and go on to: from the notice to the flag

The last line is one JSON object. Exit status 1 when a target is missed by a single case.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import aiohttp
from lab.machine import machine
from lab.nodes import FLAG, watcher_process, watcher_program
from lab.sizes import parsed
from rich.progress import Progress

ANSWERED_TARGET_S = 1.1
"""A poll a second, and the way of the notice."""

BACK_OFF_TARGET_S = 5.1
"""The longest step that the source backs off by under 503 and 429, and the way of the notice."""

TARGETS_S = {
    "hang": ANSWERED_TARGET_S,
    "reset": ANSWERED_TARGET_S,
    "gone": ANSWERED_TARGET_S,
    "503": BACK_OFF_TARGET_S,
    "429": BACK_OFF_TARGET_S,
    "killed": ANSWERED_TARGET_S,
    "stopped": ANSWERED_TARGET_S,
    "events hang": ANSWERED_TARGET_S,
}

FLAG_LIMIT_S = 30.0
_LOOK_S = 0.005
_FAULTS: dict[str, dict[str, object]] = {
    "hang": {"kind": "hang"},
    "reset": {"kind": "reset"},
    "503": {"kind": "status", "status": 503},
    "429": {"kind": "status", "status": 429},
    "events hang": {"kind": "hang", "path_prefix": "/latest/meta-data/events/maintenance"},
}


class Case:
    """One instance and its daemon, of which one is away for a while."""

    def __init__(
        self, name: str, run_dir: Path, turn: asyncio.Lock, session: aiohttp.ClientSession
    ) -> None:
        self._name = name
        self._run_dir = run_dir
        self._turn = turn
        self._session = session
        self._port = _free_port()
        self._url = f"http://127.0.0.1:{self._port}"
        self._log_number = itertools.count()

    async def measure(self, silent_s: float) -> float:
        """Return how long the flag took, in seconds, from the end of the silence."""
        async with contextlib.AsyncExitStack() as service, contextlib.AsyncExitStack() as node:
            async with self._turn:  # started at once they would only slow each other down
                await self._serve(service)
                daemon = await self._protect(node)
            await asyncio.sleep(random.uniform(0.0, 3.0))  # noqa: S311 - a phase, not a secret
            if self._name in _FAULTS:
                await self._ask("POST", "fault", _FAULTS[self._name])
            elif self._name == "gone":
                await service.aclose()
            elif self._name == "killed":
                await node.aclose()
            else:
                daemon.send_signal(signal.SIGSTOP)
            await asyncio.sleep(silent_s)
            if self._name == "events hang":
                return await self._from_the_notice()
            if self._name != "gone":
                await self._ask("POST", "notice", {})
            return await self._from_the_return(service, node, daemon)

    async def _from_the_notice(self) -> float:
        began_s = _boottime_s()
        await self._ask("POST", "notice", {})
        return await self._written_s() - began_s

    async def _from_the_return(
        self,
        service: contextlib.AsyncExitStack,
        node: contextlib.AsyncExitStack,
        daemon: asyncio.subprocess.Process,
    ) -> float:
        if self._name == "killed":
            async with self._turn:
                began_s = _boottime_s()
                await self._protect(node)
                return await self._written_s() - began_s
        if self._name == "gone":
            await self._serve(service, "--notice-after=0")
            began_s = _boottime_s()
        elif self._name == "stopped":
            began_s = _boottime_s()
            daemon.send_signal(signal.SIGCONT)
        else:
            began_s = _boottime_s()
            await self._ask("DELETE", "fault")
        return await self._written_s() - began_s

    async def _serve(self, stack: contextlib.AsyncExitStack, *options: str) -> None:
        flags = ("simulate", "aws", f"--port={self._port}", "--quiet", *options)
        await stack.enter_async_context(watcher_process(*flags, log=self._log()))

    async def _protect(self, stack: contextlib.AsyncExitStack) -> asyncio.subprocess.Process:
        flags = (
            *("run", "--cloud=aws", f"--metadata-endpoint={self._url}"),
            *(f"--run-dir={self._run_dir}", "--listen=127.0.0.1:0"),
        )
        process, _ = await stack.enter_async_context(watcher_program(*flags, log=self._log()))
        return process

    def _log(self) -> Path:
        return self._run_dir.with_suffix(f".{next(self._log_number)}.log")

    async def _ask(self, method: str, what: str, body: Mapping[str, object] | None = None) -> None:
        url = f"{self._url}/simulator/{what}"
        async with self._session.request(method, url, json=body) as answer:
            answer.raise_for_status()

    async def _written_s(self) -> float:
        async with asyncio.timeout(FLAG_LIMIT_S):
            while True:
                with contextlib.suppress(FileNotFoundError):
                    flag = json.loads((self._run_dir / FLAG).read_text(encoding="ascii"))
                    return float(flag["written_boottime_s"])
                await asyncio.sleep(_LOOK_S)


def main() -> None:
    """Measure, show the figures, and end the process with 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--each", type=int, default=3, metavar="N", help="times of each kind (%(default)s)")
    add("--silent", type=float, default=30.0, metavar="S", help="seconds away (%(default)s)")
    arguments = parsed(parser, each=1, silent=10.0)
    if arguments.each < 1 or arguments.silent <= 0:
        parser.error("--each has to be at least 1, and --silent more than 0")
    took_s = asyncio.run(measure(arguments.each, arguments.silent))
    result = result_of(took_s, arguments.silent)
    for name, seconds in took_s.items():
        figures = "  ".join(f"{one:5.2f}" for one in seconds)
        print(f"  {name:12} at most {TARGETS_S[name]:.1f} s: {figures}")
    print(json.dumps({**result, "machine": machine()}))
    sys.exit(1 if result["missed"] else 0)


async def measure(each: int, silent_s: float) -> dict[str, list[float]]:
    """Return how long each case took, in seconds, by its kind and in order."""
    with tempfile.TemporaryDirectory() as directory, Progress(transient=True) as progress:
        names = [name for name in TARGETS_S for _ in range(each)]
        shown = progress.add_task("cases", total=len(names))
        turn = asyncio.Lock()
        async with aiohttp.ClientSession() as session:

            async def one(number: int, name: str) -> tuple[str, float]:
                place = Path(directory) / str(number)
                place.mkdir()
                took_s = await Case(name, place, turn, session).measure(silent_s)
                progress.advance(shown)
                return name, took_s

            done = await asyncio.gather(*(one(*case) for case in enumerate(names)))
    return {name: sorted(s for kind, s in done if kind == name) for name in TARGETS_S}


def result_of(took_s: dict[str, list[float]], silent_s: float) -> dict[str, object]:
    """Return the last line, but for the machine."""
    return {
        "bench": "recovery_aws",
        "target": TARGETS_S,
        "missed": any(max(seconds) > TARGETS_S[name] for name, seconds in took_s.items()),
        "silent_s": silent_s,
        "ours_s": {name: [round(one, 3) for one in seconds] for name, seconds in took_s.items()},
    }


def _boottime_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
