"""The daemon through 200 notices of Google's and their ends, with every fault at random."""

import asyncio
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.hurried_daemon import HurriedDaemon
from tests.support.watcher_process import WatcherProcess, control, daemon_process, lift_faults
from tests.support.weather import Weather, seeded
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.request_log import LoggedRequest
from watcher.simulator.server import make_app, serving

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(1200)]

TIMES = 200
WARM = 20
"""Notices before the first look at what the process holds: caches and pools are full then."""

MIGRATION = {"value": "TERMINATE_ON_HOST_MAINTENANCE"}
OVER = {"value": "NONE"}

EVENT = "/computeMetadata/v1/instance/maintenance-event"
ABSENCES = (EVENT, "/computeMetadata/v1/instance/preempted")

NOT_ASKED = ("garbage", "html")
"""Faults that answer 200 for the metadata server: it has not been asked."""


class Looks:
    """Counts when the key itself was asked for; Google warns only who has, since the last event."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, ended: LoggedRequest) -> None:
        """Take in a request that has ended."""
        is_look = ended.path == EVENT and "wait_for_change" not in ended.query
        if is_look and ended.status == 200 and ended.fault not in NOT_ASKED:
            self.count += 1

    async def more_than(self, count: int) -> None:
        """Wait until it was asked for once more."""
        await eventually(lambda: self.count > count)


async def until(watcher: WatcherProcess, *, is_there: bool) -> None:
    """Wait until the flag is there, or is gone."""
    async with asyncio.timeout(60):
        while (watcher.flag() is not None) != is_there:  # noqa: ASYNC110 - another process's file
            await asyncio.sleep(0.005)


async def test_nothing_grows_and_no_notice_is_lost_in_200_notices(
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is acted on once and withdrawn once; tasks, descriptors, threads and memory stay."""
    chance = seeded()
    hurried = HurriedDaemon(tmp_path / "hurried")
    scenario, looks = GcpScenario(identity=Identity()), Looks()
    async with (
        serving(make_app(scenario, ScenarioClock(), looks), "127.0.0.1", 0) as url,
        daemon_process(
            run_dir, url, "--cloud=gcp", GCE_METADATA_HOST=url, **hurried.environment()
        ) as watcher,
    ):
        await watcher.answers("/readyz", 200)
        weather = Weather(url, chance, ABSENCES)
        before: dict[str, int] = {}
        looked = 0
        for number in range(TIMES):
            for change, is_there in ((MIGRATION, True), (OVER, False)):
                if chance.random() < 0.2:
                    await weather.worsen()
                looked = looks.count
                await control(url, "maintenance_event", **change)
                await until(watcher, is_there=is_there)
            await lift_faults(url)
            await looks.more_than(looked)
            if number == WARM:
                before = await hurried.held(watcher.process.pid)
            if number % 20 == 19:
                with capsys.disabled():
                    print(f"soak notices={number + 1}/{TIMES}")  # noqa: T201 - minutes pass
        after = await hurried.holds_no_more(watcher.process.pid, before)
        assert await watcher.said("notice withdrawn", times=TIMES) == TIMES
        assert watcher.log.count("notice admitted") == TIMES
        print(before, after, weather.made)  # noqa: T201 - shown by -s
