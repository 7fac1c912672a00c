"""The daemon whose clocks jump: a wall clock that is set, and a machine that was suspended."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.turned_clocks import TurnedClocks
from tests.support.watcher_process import WatcherProcess, control, daemon_process
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(300)]

HOUR_S = 3600.0
LIBRARIES = (
    *Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"),
    *(Path(one) for one in (os.environ.get("LIBFAKETIME"),) if one),
)


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated EC2 whose notices the test issues."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


@pytest.fixture
def clocks(tmp_path: Path) -> TurnedClocks:
    """The clocks of the daemon."""
    return TurnedClocks(tmp_path / "clocks")


def behind_s(watcher: WatcherProcess, instant: str) -> float:
    """Return how far an instant of the flag is behind this process's clock, in seconds."""
    flag = watcher.flag()
    assert flag is not None
    return datetime.now().timestamp() - datetime.fromisoformat(flag[instant]).timestamp()  # noqa: DTZ005 - both are seconds of Unix time


async def stays_the_same(watcher: WatcherProcess, by_s: float) -> None:
    """See a notice in force keep its instant, and its stamps go with the wall clock."""
    before = await watcher.shows("stop")
    await watcher.said("the wall clock was set by")
    await eventually(lambda: abs(behind_s(watcher, "written_at") + by_s) < HOUR_S / 60)
    after = watcher.flag()
    assert after is not None
    assert after["deadline_boottime_s"] == before["deadline_boottime_s"]
    assert (after["id"], after["seq"] > before["seq"]) == (before["id"], True)
    assert watcher.log.count("notice admitted") == 1
    assert "notice withdrawn" not in watcher.log
    assert (await watcher.ask("/readyz"))[0] == 200


@pytest.mark.parametrize("by_s", [600.0, -600.0])
async def test_notice_keeps_its_instant_when_the_wall_clock_is_set(
    run_dir: Path, cloud: str, clocks: TurnedClocks, by_s: float
) -> None:
    """Ten minutes either way neither end a notice nor make its two minutes twelve."""
    async with daemon_process(run_dir, cloud, **clocks.environment()) as watcher:
        await control(cloud, "notice", window_s=120)
        await watcher.shows("stop")
        clocks.set_wall(by_s)
        await stays_the_same(watcher, by_s)


@pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not there: apt install libfaketime")
@pytest.mark.parametrize("by_s", [600.0, -600.0])
async def test_notice_keeps_its_instant_when_faketime_sets_the_clock(
    run_dir: Path, cloud: str, tmp_path: Path, by_s: float
) -> None:
    """The same for whoever asks the system for the time, in our code and in others'."""
    by = tmp_path / "by"
    by.write_text("+0")
    fake = {
        "LD_PRELOAD": str(LIBRARIES[-1]),
        "FAKETIME_TIMESTAMP_FILE": str(by),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    async with daemon_process(run_dir, cloud, **fake) as watcher:
        await control(cloud, "notice", window_s=120)
        await watcher.shows("stop")
        by.write_text(f"{by_s:+.0f}")
        await stays_the_same(watcher, by_s)


@pytest.mark.parametrize("ahead_s", [600.0, -600.0])
async def test_notice_is_not_too_late_when_the_clock_was_wrong_all_along(
    run_dir: Path, cloud: str, clocks: TurnedClocks, ahead_s: float
) -> None:
    """A stop is told at once, and with at most the time that EC2 gives."""
    clocks.set_wall(ahead_s)
    async with daemon_process(run_dir, cloud, **clocks.environment()) as watcher:
        await control(cloud, "notice", window_s=120)
        flag = await watcher.shows("stop")
        assert flag["deadline_boottime_s"] <= flag["written_boottime_s"] + 120


async def test_plan_comes_in_force_when_the_machine_wakes_up(
    run_dir: Path, cloud: str, clocks: TurnedClocks
) -> None:
    """A stop that was an hour away is at hand after 50 minutes of suspend."""
    async with daemon_process(run_dir, cloud, **clocks.environment()) as watcher:
        await control(cloud, "maintenance", code="instance-stop", not_before_s=HOUR_S)
        await watcher.said("notice planned")
        assert watcher.flag() is None
        clocks.suspend(50 * 60)
        flag = await watcher.shows("stop")
        left_s = flag["deadline_boottime_s"] - flag["written_boottime_s"]
        assert 0 < left_s <= 10 * 60
        assert "the wall clock was set" not in watcher.log


async def test_notice_stays_until_the_cloud_takes_it_back_when_it_was_slept_through(
    run_dir: Path, cloud: str, clocks: TurnedClocks
) -> None:
    """An hour past its deadline it is in force; EC2's silence about it then ends it, once."""
    async with daemon_process(run_dir, cloud, **clocks.environment()) as watcher:
        await control(cloud, "notice", window_s=120)
        before = await watcher.shows("stop")
        clocks.suspend(HOUR_S)
        await watcher.answers("/readyz", 200)
        assert watcher.flag() == before
        await control(cloud, "withdraw")
        async with asyncio.timeout(100):  # ten polls, one a second
            while watcher.flag() is not None:  # noqa: ASYNC110 - another process's file
                await asyncio.sleep(0.1)
        await watcher.said("notice withdrawn")
        assert watcher.log.count("notice withdrawn") == watcher.log.count("notice admitted") == 1
