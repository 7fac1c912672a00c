"""After an outage: the notice that came meanwhile is acted on at the first poll that is answered.

The daemon and the simulator as processes; what is asserted is the order of answers, which holds on
any machine.
"""

import asyncio
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import (
    WatcherProcess,
    control,
    daemon_process,
    lift_faults,
    requests_seen,
    simulator_process,
)

pytestmark = pytest.mark.e2e

SPOT = "/latest/meta-data/spot/instance-action"
SCHEDULED = "/latest/meta-data/events/maintenance/scheduled"


async def polls(url: str) -> list[dict[str, Any]]:
    """Return the requests for the Spot key so far."""
    return [request for request in await requests_seen(url) if request["path"] == SPOT]


async def asked(url: str, times: int, fault: str | None = None) -> list[dict[str, Any]]:
    """Wait until the Spot key was asked for so often, or so often in vain; return all polls."""
    async with asyncio.timeout(20):
        while True:
            every = await polls(url)
            if len([one for one in every if one["fault"] == fault]) >= times:
                return every
            await asyncio.sleep(0.02)


async def first_answers(watcher: WatcherProcess, *expected: str) -> None:
    """Wait until the log tells these first answers about Spot: at the start, after each outage."""
    pattern = r"source answers source=aws_imds key=spot/instance-action answer=(\w+)"
    await eventually(lambda: len(re.findall(pattern, watcher.log)) >= len(expected))
    assert re.findall(pattern, watcher.log) == list(expected)


@pytest.mark.parametrize(
    "fault",
    [{"kind": "hang"}, {"kind": "reset"}, {"kind": "status", "status": 503}],
    ids=["hang", "reset", "503"],
)
async def test_notice_is_acted_on_at_the_next_poll_when_the_server_has_recovered(
    run_dir: Path, fault: dict[str, object]
) -> None:
    """It came while nothing was answered; the first answer is enough, in whatever way it failed."""
    async with simulator_process() as url, daemon_process(run_dir, url) as watcher:
        await asked(url, 1)
        await control(url, "fault", **fault, path_prefix="/latest/")
        await control(url, "notice", window_s=100)
        await asked(url, 2, str(fault["kind"]))
        assert watcher.flag() is None
        await lift_faults(url)
        await watcher.shows("stop")
        await first_answers(watcher, "absent", "present")


async def test_notice_is_acted_on_at_the_first_poll_when_the_daemon_was_away(run_dir: Path) -> None:
    """A level is read again: what was issued between two runs is heard by the second."""
    async with simulator_process() as url:
        async with daemon_process(run_dir, url):
            await asked(url, 2)
        await control(url, "notice", window_s=100)
        async with daemon_process(run_dir, url) as second:
            await second.shows("stop")
            await first_answers(second, "absent", "present")  # of each run


async def test_notice_is_acted_on_when_the_server_was_away(run_dir: Path) -> None:
    """A metadata service that restarts has forgotten the token, and may have news at once."""
    async with simulator_process() as url:
        port = url.rpartition(":")[2]
        watcher = await WatcherProcess.start(run_dir, url)
        await asked(url, 2)
    try:
        await eventually(lambda: "outcome=unreachable" in watcher.log)
        async with simulator_process(f"--port={port}", "--notice-after=0") as url:
            await watcher.shows("stop")
            await first_answers(watcher, "absent", "present")
            assert [one["status"] for one in await polls(url)][:2] == [401, 200]
    finally:
        await watcher.end(signal.SIGKILL)


async def test_notice_is_acted_on_when_the_scheduled_events_hang(run_dir: Path) -> None:
    """The hanging request stays open on its own connection while Spot is heard on the other."""
    async with simulator_process() as url:
        await control(url, "fault", kind="hang", path_prefix=SCHEDULED)
        async with daemon_process(run_dir, url) as watcher:
            await asked(url, 1)
            await eventually(
                lambda: f"key={SCHEDULED.removeprefix('/latest/meta-data/')}" in watcher.log
            )
            await control(url, "notice", window_s=100)
            await watcher.shows("stop")
            requests = await requests_seen(url)
        hanging = {one["connection"] for one in requests if one["path"] == SCHEDULED}
        spot = {one["connection"] for one in requests if one["path"] == SPOT}
        assert len(spot) == 1
        assert not hanging & spot
