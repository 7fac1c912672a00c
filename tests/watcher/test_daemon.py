"""The daemon as a process, against the simulator on a real socket: one notice, end to end."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

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
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

SLEEPS = ("sleep", "60")


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated EC2 whose notices the test issues."""
    async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


async def knows_its_instance(watcher: WatcherProcess) -> None:
    """Wait until the daemon has read who it is."""
    async with asyncio.timeout(30):
        while "i-0123456789abcdef0" not in (await watcher.ask("/v1/state"))[1]:  # noqa: ASYNC110 - another process learns it
            await asyncio.sleep(0.05)


async def test_notice_becomes_flag_and_signal_when_the_cloud_takes_the_node(run_dir: Path) -> None:
    """Both programs as a user starts them: flag, SIGTERM, faces, two connections, exit 0."""
    trainer = await asyncio.create_subprocess_exec(*SLEEPS)
    pid_file = run_dir.parent / "trainer.pid"
    await asyncio.to_thread(pid_file.write_text, str(trainer.pid))
    async with (
        simulator_process() as url,
        daemon_process(
            run_dir, url, f"--signal-pid-file={pid_file}", "--log-format=json"
        ) as watcher,
    ):
        await knows_its_instance(watcher)  # on its other connection, after the first Spot poll
        assert "No notice is in force" in (await watcher.ask("/"))[1]
        await control(url, "notice")
        flag = await watcher.shows("stop")
        async with asyncio.timeout(20):
            assert await trainer.wait() == -signal.SIGTERM
        assert (flag["kind"], flag["action"], flag["node"]) == ("preemption", "terminate", "node-a")
        assert flag["instance_id"] == "i-0123456789abcdef0"
        assert 0 < flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 120
        assert (await watcher.ask("/healthz"))[0] == (await watcher.ask("/readyz"))[0] == 200
        state = await watcher.state()
        (notice,) = state["in_force"]
        assert notice["id"] == flag["id"]
        assert {name: one["outcome"] for name, one in notice["actions"].items()} == {
            "flag_file": "done",
            "signal": "done",
        }
        assert "reprieve_flag_written_timestamp_seconds 1." in (await watcher.ask("/metrics"))[1]
        requests = await requests_seen(url)
        of_spot = {r["connection"] for r in requests if r["path"].endswith("instance-action")}
        of_others = {r["connection"] for r in requests if r["path"].endswith("rebalance")}
        assert {r["connection"] for r in requests} == of_spot | of_others
        assert len(of_spot) == len(of_others) == 1 == len(of_spot ^ of_others) - 1
        assert len([r for r in requests if r["method"] == "PUT"]) <= 2
        assert not any("X-Forwarded-For" in request["headers"] for request in requests)
    lines = [json.loads(line) for line in watcher.log.splitlines()]
    hops = [line["logger"] for line in lines if line.get("notice_id") == flag["id"]]
    assert hops[:2] == ["watcher.supervise", "watcher.responder"]
    assert watcher.flag() is not None, "a stopped daemon leaves a notice in force"


async def test_advice_warns_and_a_stop_displaces_it_when_both_are_in_force(
    run_dir: Path, cloud: str
) -> None:
    """Rebalance advice alone signals nobody; the stop then comes first and names the advice."""
    trainer = await asyncio.create_subprocess_exec(*SLEEPS)
    pid_file = run_dir.parent / "trainer.pid"
    await asyncio.to_thread(pid_file.write_text, str(trainer.pid))
    await control(cloud, "rebalance")
    async with daemon_process(run_dir, cloud, f"--signal-pid-file={pid_file}") as watcher:
        advisory = await watcher.shows("advisory")
        assert (advisory["kind"], advisory["deadline"]) == ("rebalance", None)
        assert trainer.returncode is None
        assert "action=signal" not in watcher.log
        await control(cloud, "notice", window_s=60)
        stop = await watcher.shows("stop")
        assert stop["also"] == [advisory["id"]]
        assert stop["seq"] > advisory["seq"]
        async with asyncio.timeout(20):
            assert await trainer.wait() == -signal.SIGTERM


async def test_flag_is_written_again_when_the_daemon_was_killed_after_the_notice(
    run_dir: Path, cloud: str
) -> None:
    """With the flag left in place the first run's notice stays; without it it is heard anew."""
    await control(cloud, "notice", window_s=100)
    async with daemon_process(run_dir, cloud) as first:
        before = await first.shows("stop")
        await first.end(signal.SIGKILL)
    async with daemon_process(run_dir, cloud) as second:
        await eventually(lambda: (second.flag() or before)["seq"] > before["seq"])
        after = await second.shows("stop")
        for name in ("id", "received_at", "deadline", "deadline_boottime_s"):
            assert after[name] == before[name]
        await second.end(signal.SIGKILL)
    await asyncio.to_thread(second.flag_path.unlink)
    async with daemon_process(run_dir, cloud) as third:
        again = await third.shows("stop")
        assert again["deadline"] == before["deadline"]
        assert again["seq"] > after["seq"]


@pytest.mark.parametrize("content", ['{"schema": 1, "boot_id": "another"}', "not a flag"])
async def test_void_flag_is_gone_before_ready_when_the_daemon_starts(
    run_dir: Path, cloud: str, content: str
) -> None:
    """Whoever waits for READY never sees what another boot of this machine was told."""
    flag = run_dir / "notice.json"
    await asyncio.to_thread(flag.write_text, content)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(run_dir.parent / "notify"))
        manager.settimeout(20)
        async with daemon_process(run_dir, cloud, NOTIFY_SOCKET=manager.getsockname()) as watcher:
            assert await asyncio.to_thread(manager.recv, 100) == b"READY=1"
            assert watcher.flag() is None
            await watcher.end()
            assert await asyncio.to_thread(manager.recv, 100) == b"STOPPING=1"
    assert f"flag removed path={flag}" in watcher.log


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ({"kind": "status", "status": 403}, "forbidden"),
        ({"kind": "html"}, "malformed"),
        ({"kind": "expire_tokens"}, None),
    ],
    ids=["forbidden", "html", "tokens expired"],
)
async def test_daemon_says_it_is_blind_and_hears_again_when_the_cloud_fails(
    run_dir: Path, cloud: str, fault: dict[str, object], outcome: str | None
) -> None:
    """A notice in force survives the failure, which shows in /readyz and metrics, and passes."""
    await control(cloud, "notice", window_s=100)
    async with daemon_process(run_dir, cloud, REPRIEVE_FACES_BLIND_LIMIT_S="0.1") as watcher:
        before = await watcher.shows("stop")
        await watcher.answers("/readyz", 200)
        tokens = await tokens_minted(cloud)
        await control(cloud, "fault", **fault)
        if outcome is not None:
            body = json.loads(await watcher.answers("/readyz", 503))
            assert body["unfit"][0]["source"] == "aws_imds"
            metrics = (await watcher.ask("/metrics"))[1]
            assert 'reprieve_source_up{source="aws_imds"} 0.0' in metrics
            assert f'reprieve_source_fetches_total{{outcome="{outcome}"' in metrics
            await lift_faults(cloud)
        await watcher.answers("/readyz", 200)
        if outcome is None:
            await eventually_minted(cloud, tokens + 1)
        assert watcher.flag() == before


async def tokens_minted(url: str) -> int:
    """Count the tokens that have been asked for."""
    return len([request for request in await requests_seen(url) if request["method"] == "PUT"])


async def eventually_minted(url: str, times: int) -> None:
    """Wait until so many tokens have been asked for."""
    async with asyncio.timeout(20):
        while await tokens_minted(url) < times:  # noqa: ASYNC110 - asked for over HTTP
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_daemon_ends_cleanly_when_the_cloud_hangs(
    run_dir: Path, cloud: str, number: signal.Signals
) -> None:
    """The middle of a request that will not be answered is no reason to wait."""
    await control(cloud, "fault", kind="hang")
    async with daemon_process(run_dir, cloud) as watcher:
        await watcher.ask("/healthz")
        assert await watcher.end(number) == 0


async def test_daemon_ends_at_once_when_told_a_second_time(run_dir: Path, cloud: str) -> None:
    """The first SIGTERM lets a failing action try for a little longer, the second does not."""
    async with daemon_process(run_dir, cloud) as watcher:
        await watcher.ask("/healthz")
        await asyncio.to_thread(run_dir.rename, run_dir.with_name("away"))
        await control(cloud, "notice", window_s=100)
        await eventually(lambda: "action retrying action=flag_file" in watcher.log)
        watcher.process.terminate()
        await eventually(lambda: "stopping" in watcher.log)
        assert await watcher.end(signal.SIGTERM) == -signal.SIGTERM


async def test_flag_is_written_late_when_the_run_directory_is_away_for_a_while(
    run_dir: Path, cloud: str
) -> None:
    """Until then the state shows what is in the way, and nothing is given up."""
    async with daemon_process(run_dir, cloud) as watcher:
        await watcher.ask("/healthz")
        away = run_dir.with_name("away")
        await asyncio.to_thread(run_dir.rename, away)
        await control(cloud, "notice", window_s=100)
        await eventually(lambda: "action retrying action=flag_file" in watcher.log)
        record = (await watcher.state())["in_force"][0]["actions"]
        assert record["flag_file"]["outcome"] == "retrying"
        assert str(run_dir) in record["flag_file"]["what"]
        await asyncio.to_thread(away.rename, run_dir)
        await watcher.shows("stop")


async def test_daemon_waits_for_its_turn_when_another_has_the_run_directory(
    run_dir: Path, cloud: str
) -> None:
    """It would remove a flag that its own settings know nothing of; it is ready once alone."""
    await control(cloud, "notice", window_s=100)
    async with daemon_process(run_dir, cloud) as first:
        before = await first.shows("stop")
        other = {"REPRIEVE_AWS_METADATA": "off", "REPRIEVE_COMMAND_ARGV": "sleep 60"}
        async with daemon_process(run_dir, cloud, **other) as second:
            await eventually(lambda: "another watcher uses it" in second.log)
            assert first.flag() == before
            await first.end(signal.SIGKILL)
            await eventually(lambda: second.log.count("ready listen=") == 2)  # both log there
            assert second.flag() is None, "nobody would ever take it back"


async def test_daemon_refuses_to_start_when_the_run_directory_is_missing(
    tmp_path: Path, cloud: str
) -> None:
    """Status 78 tells the service manager not to try again, the message tells people what to do."""
    watcher = await WatcherProcess.start(tmp_path / "missing", cloud)
    assert await watcher.process.wait() == os.EX_CONFIG
    assert f"{tmp_path}/missing" in watcher.log
    assert "--run-dir" in watcher.log


async def test_log_is_no_file_of_ours_when_standard_error_was_closed_at_the_start(
    run_dir: Path, cloud: str
) -> None:
    """Or its lines would go into whatever is opened first: a socket, or the flag."""
    run = f"-m watcher run --cloud=aws --metadata-endpoint={cloud} --run-dir={run_dir}"
    process = await asyncio.create_subprocess_shell(
        f"exec {sys.executable} {run} --listen=127.0.0.1:0 <&- >&- 2>&-",
        cwd=Path(__file__).parents[2],
    )
    try:
        flag = run_dir / "notice.json"
        await control(cloud, "notice")
        await eventually(flag.exists)
        standard = [Path(f"/proc/{process.pid}/fd/{number}") for number in range(3)]
        assert [str(one.readlink()) for one in standard] == [os.devnull] * 3
        assert json.loads(flag.read_text())["kind"] == "preemption"
    except BaseException:
        process.kill()
        raise
    process.terminate()
    async with asyncio.timeout(20):
        assert await process.wait() == 0
