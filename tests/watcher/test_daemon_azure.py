"""The daemon as a process, against a simulated Azure on a real socket."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import (
    WatcherProcess,
    control,
    daemon_process,
    lift_faults,
    requests_seen,
)
from watcher.simulator.azure.scenario import AzureScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving
from watcher.sources.azure_session import EVENTS_PATH, NAME_PATH

pytestmark = pytest.mark.e2e

ME = "gpu-vmss_3"
SIBLING = "gpu-vmss_0"
EVENTS = EVENTS_PATH.partition("?")[0]


@asynccontextmanager
async def azure(scenario: AzureScenario | None = None) -> AsyncIterator[str]:
    """Run a simulated Azure whose events the test makes."""
    app = make_app(scenario or AzureScenario(), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        yield url


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A machine without events."""
    async with azure() as url:
        yield url


def daemon(
    run_dir: Path, url: str, *options: str, **environment: str
) -> AbstractAsyncContextManager[WatcherProcess]:
    """Run the daemon inside the block, in this cloud."""
    return daemon_process(run_dir, url, "--cloud=azure", *options, **environment)


async def looks(url: str, times: int) -> None:
    """Wait until the document has been asked for so many times more."""

    async def count() -> int:
        return len([one for one in await requests_seen(url) if one["path"] == EVENTS])

    before = await count()
    async with asyncio.timeout(60):
        while await count() < before + times:  # noqa: ASYNC110 - asked for over HTTP
            await asyncio.sleep(0.05)


async def test_eviction_becomes_flag_and_signal_when_azure_takes_the_machine(
    run_dir: Path, cloud: str
) -> None:
    """Flag, SIGTERM, faces; a connection for events and one for the rest; no proxy."""
    trainer = await asyncio.create_subprocess_exec("sleep", "60")
    pid_file = run_dir.parent / "trainer.pid"
    await asyncio.to_thread(pid_file.write_text, str(trainer.pid))
    async with daemon(run_dir, cloud, f"--signal-pid-file={pid_file}") as watcher:
        await watcher.answers("/readyz", 200)
        await control(cloud, "event", type="Preempt")
        flag = await watcher.shows("stop")
        async with asyncio.timeout(20):
            assert await trainer.wait() == -signal.SIGTERM
        assert (flag["kind"], flag["action"], flag["node"]) == ("preemption", "Preempt", "node-a")
        assert flag["instance_id"] == ME
        assert 0 < flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 30
        assert (await watcher.state())["sources"]["azure_events"]["facts"] == {"name": ME}
        requests = await requests_seen(cloud)
    by_path = {(one["path"], one["query"]): one["connection"] for one in requests}
    assert len(set(by_path.values())) == len(by_path) == 2
    assert {f"{path}?{query}" for path, query in by_path} == {EVENTS_PATH, NAME_PATH}
    assert all(one["headers"]["Metadata"] == "true" for one in requests)
    assert not any("X-Forwarded-For" in one["headers"] for one in requests)


async def test_daemon_hears_azure_when_it_proves_itself(run_dir: Path, cloud: str) -> None:
    """Nobody has to say which cloud it is."""
    await control(cloud, "event")
    async with daemon(run_dir, cloud, "--cloud=auto") as watcher:
        await watcher.shows("stop")
        assert (await watcher.state())["cloud"]["name"] == "azure"


async def test_nothing_happens_when_an_event_is_for_another_machine(
    run_dir: Path, cloud: str
) -> None:
    """The whole scale set is told; a line of the log says why nothing happened."""
    await control(cloud, "event", resources=[SIBLING], event_id="E-1")
    async with daemon(run_dir, cloud) as watcher:
        await watcher.answers("/readyz", 200)
        await eventually(lambda: "ignored events of other machines: E-1" in watcher.log)
        assert (await watcher.state())["in_force"] == []
        assert watcher.flag() is None


async def test_both_are_in_force_when_a_document_has_two_of_ours(run_dir: Path, cloud: str) -> None:
    """The stop is in the flag, and names the advice; another machine's event is in neither."""
    await control(cloud, "event", type="Freeze", event_id="E-1", resources=[SIBLING, ME])
    await control(cloud, "event", type="Preempt", event_id="E-2")
    await control(cloud, "event", type="Reboot", event_id="E-3", resources=[SIBLING])
    async with daemon(run_dir, cloud) as watcher:
        await eventually(lambda: (watcher.flag() or {}).get("also"))
        flag = await watcher.shows("stop")
        assert (flag["action"], flag["also"]) == ("Preempt", [f"azure-freeze-e-1-{ME}"])
        assert len((await watcher.state())["in_force"]) == 2


async def test_advice_and_a_plan_stop_nobody_when_there_is_no_eviction(
    run_dir: Path, cloud: str
) -> None:
    """A freeze brings the next save forward, and a redeployment in days is only planned."""
    await control(cloud, "event", type="Freeze", event_id="E-1")
    await control(cloud, "event", type="Redeploy", event_id="E-2", not_before_s=7 * 86_400)
    async with daemon(run_dir, cloud) as watcher:
        flag = await watcher.shows("advisory")
        assert (flag["kind"], flag["action"]) == ("live_migration", "Freeze")
        await eventually(lambda: "notice planned" in watcher.log)
        state = await watcher.state()
    assert [notice["action"] for notice in state["planned"]] == ["Redeploy"]


async def test_deadline_comes_nearer_when_the_event_starts_early(run_dir: Path, cloud: str) -> None:
    """Somebody has approved it: the flag says so, under the same notice."""
    await control(cloud, "event", type="Redeploy", event_id="E-1")
    async with daemon(run_dir, cloud) as watcher:
        before = await watcher.shows("stop")
        await control(cloud, "event_start", event_id="E-1")
        await eventually(lambda: (watcher.flag() or before)["seq"] > before["seq"])
        after = await watcher.shows("stop")
    assert after["id"] == before["id"]
    assert after["deadline_boottime_s"] < before["deadline_boottime_s"] - 300
    assert after["detail"]["EventStatus"] == "Started"


async def test_flag_goes_when_the_event_has_gone(run_dir: Path, cloud: str) -> None:
    """Done or canceled: the trainers may start again."""
    await control(cloud, "event", type="Reboot")
    async with daemon(run_dir, cloud) as watcher:
        flag = await watcher.shows("stop")
        await control(cloud, "event_end")
        await eventually(lambda: watcher.flag() is None)
        (past,) = (await watcher.state())["past"]
    assert (past["id"], past["outcome"]) == (flag["id"], "over")


async def test_flag_stays_as_it_is_when_the_daemon_was_killed(run_dir: Path, cloud: str) -> None:
    """The next run repeats nothing, and withdraws what the first one has told once it has gone."""
    await control(cloud, "event", type="Preempt", not_before_s=25)
    async with daemon(run_dir, cloud) as first:
        before = await first.shows("stop")
        await eventually(lambda: first.log.count("source answers") == 2)  # they come after the flag
        await first.end(signal.SIGKILL)
    async with daemon(run_dir, cloud) as second:
        await eventually(lambda: (second.flag() or before)["seq"] > before["seq"])
        await eventually(lambda: second.log.count("source answers") == 4)
        after = await second.shows("stop")
        for name in ("id", "received_at", "deadline", "deadline_boottime_s"):
            assert after[name] == before[name]
        await control(cloud, "event_end")
        await eventually(lambda: second.flag() is None)


async def test_flag_is_written_again_when_it_was_lost_with_the_daemon(
    run_dir: Path, cloud: str
) -> None:
    """The document is a level: what it shows is heard anew."""
    await control(cloud, "event", type="Preempt")
    async with daemon(run_dir, cloud) as first:
        before = await first.shows("stop")
        await first.end(signal.SIGKILL)
    await asyncio.to_thread(shutil.rmtree, run_dir)
    await asyncio.to_thread(run_dir.mkdir)
    async with daemon(run_dir, cloud) as second:
        after = await second.shows("stop")
    assert (after["id"], after["deadline"]) == (before["id"], before["deadline"])


async def test_flag_stays_and_the_daemon_is_blind_when_azure_does_not_answer(
    run_dir: Path, cloud: str
) -> None:
    """Unknown is not clear, neither a 404 nor an empty body; an end is believed once it is read."""
    await control(cloud, "event", type="Preempt")
    short = {"REPRIEVE_FACES_BLIND_LIMIT_S": "0.5"}
    async with daemon(run_dir, cloud, **short) as watcher:
        flag = await watcher.shows("stop")
        await control(cloud, "event_end")
        for fault in ({"status": 404}, {"body": ""}):
            answered = {"kind": "answer", "path_prefix": EVENTS, **fault}
            await control(cloud, "fault", **answered)
            assert "azure_events" in await watcher.answers("/readyz", 503)
            assert watcher.flag() == flag
            await lift_faults(cloud)
            await watcher.answers("/readyz", 200)
        await eventually(lambda: watcher.flag() is None)


async def test_source_has_not_answered_yet_when_the_first_answer_is_held_back(
    run_dir: Path,
) -> None:
    """Switching events on takes longer than any other answer may; that is no error."""
    async with azure(AzureScenario(first_answer_s=7)) as url, daemon(run_dir, url) as watcher:
        assert "has not answered yet" in await watcher.answers("/readyz", 503)
        await control(url, "event", type="Preempt")
        await watcher.shows("stop")
        await watcher.answers("/readyz", 200)
        assert "source blind" not in watcher.log


async def test_set_name_counts_when_the_metadata_service_says_another(
    run_dir: Path, cloud: str
) -> None:
    """And the log says that the two differ."""
    await control(cloud, "event", resources=["gpu-vmss_4"])
    async with daemon(run_dir, cloud, REPRIEVE_AZURE_VM_NAME="gpu-vmss_4") as watcher:
        flag = await watcher.shows("stop")
        assert flag["instance_id"] == "gpu-vmss_4"
        await eventually(lambda: "azure.vm_name is gpu-vmss_4" in watcher.log)


async def test_event_is_approved_when_that_is_set_and_it_is_ours_alone(
    run_dir: Path, cloud: str
) -> None:
    """After the actions and the wait; the one that concerns another machine too is not."""
    await control(cloud, "event", type="Reboot", event_id="E-1")
    await control(cloud, "event", type="Reboot", event_id="E-2", resources=[SIBLING, ME])
    approving = {
        "REPRIEVE_AZURE_APPROVE": "after_actions",
        "REPRIEVE_AZURE_APPROVE_WAIT_S": "0.1",
    }
    async with daemon(run_dir, cloud, **approving) as watcher:
        await eventually(lambda: f"event approved notice_id=azure-reboot-e-1-{ME}" in watcher.log)
        await looks(cloud, 3)
        posts = [one for one in await requests_seen(cloud) if one["method"] == "POST"]
        assert [one["status"] for one in posts] == [200]
