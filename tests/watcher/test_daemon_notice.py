"""The daemon as a process that tells of its notices over HTTP, with the simulator as its cloud."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import WatcherProcess, control, daemon_process
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

TELLS = "--notice-listen=127.0.0.1:0"
SERVED = re.compile(r"notice served listen=(http\S+)")

Told = dict[str, Any]


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated EC2 whose notices the test issues."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


async def ask(watcher: WatcherProcess, query: str = "") -> Told | None:
    """Return an answer of the daemon that was started last; None where it says 503."""
    await eventually(lambda: SERVED.search(watcher.log))
    url = SERVED.findall(watcher.log)[-1]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/v1/notice?{query}") as response,
    ):
        assert response.status in (200, 503)
        answer: Told | None = await response.json() if response.status == 200 else None
        return answer


async def told(watcher: WatcherProcess, holds: Callable[[Told], object]) -> Told:
    """Ask until an answer is as it should be, waiting at the daemon for each next one."""
    async with asyncio.timeout(30):
        query = ""
        while True:
            answer = await ask(watcher, query)
            if answer is None:
                await asyncio.sleep(0.02)
                continue
            if holds(answer):
                return answer
            query = f"after={answer['seq']}&wait=20"


def is_clear(answer: Told) -> bool:
    """Tell whether nothing is in force."""
    return answer["notice"] is None


async def test_client_is_told_what_the_flag_says_when_a_notice_comes_and_goes(
    run_dir: Path, cloud: str
) -> None:
    """Nothing, a stop, and nothing again, with a seq for each; and the file's own bytes."""
    async with daemon_process(run_dir, cloud, TELLS) as watcher:
        before = await told(watcher, is_clear)
        await control(cloud, "notice", window_s=100)
        during = await told(watcher, lambda answer: not is_clear(answer))
        assert during["notice"] == await watcher.shows("stop")
        assert during["boot_id"] == during["notice"]["boot_id"] == before["boot_id"]
        assert before["seq"] < during["seq"] == during["notice"]["seq"]


async def test_client_is_told_when_the_flag_can_not_be_written(run_dir: Path, cloud: str) -> None:
    """And the file follows when it can be."""
    async with daemon_process(run_dir, cloud, TELLS) as watcher:
        await told(watcher, is_clear)
        away = run_dir.with_name("away")
        await asyncio.to_thread(run_dir.rename, away)
        await control(cloud, "notice", window_s=100)
        during = await told(watcher, lambda answer: not is_clear(answer))
        await eventually(lambda: "action retrying action=flag_file" in watcher.log)
        await asyncio.to_thread(away.rename, run_dir)
        assert (await watcher.shows("stop"))["id"] == during["notice"]["id"]


async def test_notice_is_never_over_when_the_daemon_is_killed_and_started_again(
    run_dir: Path, cloud: str
) -> None:
    """The next run knows nothing for a moment, and says so; then it says the same notice."""
    await control(cloud, "notice", window_s=100)
    async with daemon_process(run_dir, cloud, TELLS) as first:
        before = await told(first, lambda answer: not is_clear(answer))
        await first.end(signal.SIGKILL)
    async with daemon_process(run_dir, cloud, TELLS) as second:
        await eventually(lambda: len(SERVED.findall(second.log)) == 2)
        answer = None
        while answer is None:
            answer = await ask(second)
        assert answer["notice"]["id"] == before["notice"]["id"]
        assert answer["seq"] > before["seq"]


async def test_nobody_is_told_when_it_is_a_dry_run(run_dir: Path, cloud: str) -> None:
    """Not even that nothing is in force."""
    async with daemon_process(run_dir, cloud, TELLS, "--dry-run") as watcher:
        await control(cloud, "notice", window_s=100)
        await eventually(lambda: "action dry_run action=flag_file" in watcher.log)
        assert not SERVED.search(watcher.log)
        assert await watcher.said("no trainer will be told")


async def test_nobody_listens_when_no_address_is_set(run_dir: Path, cloud: str) -> None:
    """It is off by default, and not among the faces either."""
    async with daemon_process(run_dir, cloud) as watcher:
        assert (await watcher.ask("/v1/notice"))[0] == 404
        assert not SERVED.search(watcher.log)


async def test_flag_comes_all_the_same_when_the_address_is_taken(run_dir: Path, cloud: str) -> None:
    """The daemon is ready without it, and goes on trying to get it."""
    async with daemon_process(run_dir, cloud, TELLS) as first:
        await told(first, is_clear)
        port = SERVED.findall(first.log)[-1].rpartition(":")[2]
        other = run_dir.with_name("other")
        await asyncio.to_thread(other.mkdir)
        async with daemon_process(other, cloud, f"--notice-listen=127.0.0.1:{port}") as second:
            await second.ask("/healthz")
            await eventually(lambda: f"notice not served listen=127.0.0.1:{port}" in second.log)
            await control(cloud, "notice", window_s=100)
            await second.shows("stop")
