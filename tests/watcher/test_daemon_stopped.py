"""The daemon that stands still for a moment; for a minute see test_daemon_hardships.py."""

import asyncio
import signal
import time
from pathlib import Path

import pytest

from tests.support.watcher_process import control, daemon_process
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

STOPPED_S = 3.0
WINDOW_S = 120.0


async def test_notice_keeps_the_clouds_deadline_when_it_came_as_the_daemon_stood_still(
    run_dir: Path,
) -> None:
    """It is said once, and its two minutes do not begin where it was heard."""
    async with (
        serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as cloud,
        daemon_process(run_dir, cloud) as watcher,
    ):
        await watcher.answers("/readyz", 200)
        watcher.process.send_signal(signal.SIGSTOP)
        await control(cloud, "notice", window_s=WINDOW_S)
        issued_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        await asyncio.sleep(STOPPED_S)
        assert watcher.flag() is None
        watcher.process.send_signal(signal.SIGCONT)
        flag = await watcher.shows("stop")
        assert flag["deadline_boottime_s"] <= issued_s + WINDOW_S + STOPPED_S / 2
        assert flag["written_boottime_s"] >= issued_s + STOPPED_S
        await watcher.said("notice admitted")
    assert watcher.log.count("notice admitted") == 1
    assert "notice withdrawn" not in watcher.log
