"""The daemon through 200 notices and withdrawals, with faults at random in between."""

import asyncio
import os
import random
import re
from pathlib import Path

import pytest

from tests.support.watcher_process import WatcherProcess, control, daemon_process, lift_faults
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import FaultKind
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(1200)]

TIMES = 200
WARM = 20
"""Notices before the first look at what the process holds: caches and pools are full then."""

MIGRATION = {"value": "TERMINATE_ON_HOST_MAINTENANCE"}
OVER = {"value": "NONE"}

SPARED = {FaultKind.ANSWER}
"""Says whatever it is told to, and so perhaps a notice."""


def held(pid: int) -> dict[str, int]:
    """Count what the process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"(\w+):\s+(\d+)", status)}
    descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - counted, not read
    return {"fds": descriptors, "threads": numbers["Threads"], "kib": numbers["VmRSS"]}


def fault(chance: random.Random) -> dict[str, object]:
    """Return a fault for a request or three."""
    kind = chance.choice(sorted(set(FaultKind) - SPARED))
    with_it: dict[str, object] = {"kind": kind, "count": chance.randint(1, 3)}
    if kind is FaultKind.SLOW:
        with_it["delay_s"] = 0.3
    if kind is FaultKind.STATUS:
        with_it["status"] = chance.choice([401, 403, 404, 429, 500, 503])
    return with_it


async def until(watcher: WatcherProcess, *, is_there: bool) -> None:
    """Wait until the flag is there, or is gone."""
    async with asyncio.timeout(60):
        while (watcher.flag() is not None) != is_there:  # noqa: ASYNC110 - another process's file
            await asyncio.sleep(0.005)


async def test_nothing_grows_and_no_notice_is_lost_in_200_notices(run_dir: Path) -> None:
    """Each is acted on once and withdrawn once; descriptors, threads and memory stay."""
    seed = int(os.environ.get("REPRIEVE_SEED", random.randrange(2**32)))  # noqa: S311 - no secret
    print(f"REPRIEVE_SEED={seed}")  # noqa: T201 - shown where the test fails
    chance = random.Random(seed)  # noqa: S311 - likewise
    scenario = GcpScenario(identity=Identity())
    async with (
        serving(make_app(scenario, ScenarioClock()), "127.0.0.1", 0) as url,
        daemon_process(run_dir, url, "--cloud=gcp", GCE_METADATA_HOST=url) as watcher,
    ):
        await watcher.answers("/readyz", 200)
        before: dict[str, int] = {}
        for number in range(TIMES):
            for change, is_there in ((MIGRATION, True), (OVER, False)):
                if chance.random() < 0.1:
                    await control(url, "fault", **fault(chance))
                await control(url, "maintenance_event", **change)
                await until(watcher, is_there=is_there)
            await lift_faults(url)
            if number == WARM:
                before = held(watcher.process.pid)
        after = held(watcher.process.pid)
        assert await watcher.said("notice withdrawn", times=TIMES) == TIMES
        assert watcher.log.count("notice admitted") == TIMES
        print(before, after)  # noqa: T201 - as above
        assert after["fds"] <= before["fds"] + 4
        assert after["threads"] <= before["threads"] + 1
        assert after["kib"] <= before["kib"] * 1.1 + 2048
