"""The daemon that is stopped, or short of space, descriptors or permission: no notice is lost."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import WatcherProcess, control, daemon_process
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(400)]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated EC2 whose notices the test issues."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


@contextlib.contextmanager
def mounted(at: Path, options: str) -> Iterator[None]:
    """Mount a tmpfs over a directory in the block."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", at], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


@contextlib.contextmanager
def read_only(at: Path) -> Iterator[None]:
    """Let nobody write to what is in a directory in the block."""
    subprocess.run(["mount", "--bind", at, at], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", at], check=True)
        yield
    finally:
        subprocess.run(["umount", at], check=True)


def fill(disk: Path) -> Path:
    """Take all space that a disk has left, and return the file that has it."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast


def descriptors(watcher: WatcherProcess, limit: int) -> int:
    """Let the daemon have so many descriptors, and return how many it could have before."""
    pid = watcher.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
    return soft


async def is_answered_once(watcher: WatcherProcess) -> bool:
    """Tell whether one notice was heard, and nothing taken back."""
    await watcher.said("notice admitted")
    return (watcher.log.count("notice admitted"), watcher.log.count("notice withdrawn")) == (1, 0)


async def test_notice_is_heard_when_the_daemon_was_stopped_for_a_minute(
    run_dir: Path, cloud: str
) -> None:
    """One that came meanwhile is told with the cloud's own deadline; the flag outlives a stop."""
    async with daemon_process(run_dir, cloud) as watcher:
        await watcher.answers("/readyz", 200)
        watcher.process.send_signal(signal.SIGSTOP)
        await control(cloud, "notice", window_s=300)
        await asyncio.sleep(60)
        assert watcher.flag() is None
        watcher.process.send_signal(signal.SIGCONT)
        flag = await watcher.shows("stop")
        assert flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 300 - 60 + 5
        watcher.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(60)
        assert watcher.flag() == flag
        watcher.process.send_signal(signal.SIGCONT)
        await watcher.answers("/readyz", 200)
        assert watcher.flag() == flag
        assert await is_answered_once(watcher)


@needs_root
async def test_notice_is_told_when_the_run_directorys_disk_is_full(
    run_dir: Path, cloud: str
) -> None:
    """The flag has its space in reserve, and a daemon killed meanwhile has it when it is back."""
    with mounted(run_dir, "size=256k"):
        async with daemon_process(run_dir, cloud) as watcher:
            await watcher.answers("/readyz", 200)
            ballast = fill(run_dir)
            await control(cloud, "notice", window_s=300)
            flag = await watcher.shows("stop")
            assert await is_answered_once(watcher)
            await watcher.end(signal.SIGKILL)
        assert ballast.exists()
        async with daemon_process(run_dir, cloud) as watcher:
            await watcher.said("ready listen=", times=2)  # both runs log there
            assert (await watcher.shows("stop"))["id"] == flag["id"]


@needs_root
async def test_notice_is_told_over_http_when_the_run_directory_is_read_only(
    run_dir: Path, cloud: str
) -> None:
    """And in the file once that can be written; a daemon that is started there says what to do."""
    async with daemon_process(run_dir, cloud, "--notice-listen=127.0.0.1:0") as watcher:
        await watcher.answers("/readyz", 200)
        with mounted(run_dir, "ro"):
            await control(cloud, "notice", window_s=300)
            await watcher.said("action retrying action=flag_file")
            assert "Read-only file system" in watcher.log
            (entry,) = (await watcher.state())["in_force"]
            assert entry["actions"]["flag_file"]["outcome"] == "retrying"
            assert watcher.flag() is None
        await watcher.shows("stop")
        assert await is_answered_once(watcher)
        await watcher.end()
    flag = watcher.flag()
    with read_only(run_dir):
        again = await WatcherProcess.start(run_dir, cloud)
        assert await again.process.wait() == os.EX_CONFIG, again.log
        assert again.flag() == flag


async def test_notice_is_told_when_the_daemon_has_no_descriptor_left(
    run_dir: Path, cloud: str
) -> None:
    """It comes on the connection that is there, and the flag needs none that is not."""
    async with daemon_process(run_dir, cloud) as watcher:
        await watcher.answers("/readyz", 200)
        before = descriptors(watcher, 3)
        await control(cloud, "notice", window_s=300)
        await watcher.shows("stop")
        descriptors(watcher, before)
        await watcher.answers("/readyz", 200)
        assert await is_answered_once(watcher)


async def test_notice_is_told_late_when_there_is_no_descriptor_to_hear_it_with(
    run_dir: Path, cloud: str
) -> None:
    """A lost connection can't be replaced: blind, said so, and hearing again with the first one."""
    async with daemon_process(run_dir, cloud) as watcher:
        await watcher.answers("/readyz", 200)
        before = descriptors(watcher, 3)
        await control(cloud, "fault", kind="reset", count=2)
        await watcher.said("source blind")
        await control(cloud, "notice", window_s=300)
        await eventually(lambda: "Too many open files" in watcher.log)
        assert watcher.flag() is None
        descriptors(watcher, before)
        await watcher.shows("stop")
        assert await is_answered_once(watcher)
