"""The daemon as a process beside Google's APIs: the Compute API on loopback, Google's emulator."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import eventually
from tests.support.gcp_bodies import changed, said
from tests.support.pubsub_emulator import Emulator
from tests.support.scripted_google import ScriptedGoogle
from tests.support.watcher_process import WatcherProcess, control
from watcher.notice import rfc3339
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

ME = Identity()
VM = f"/compute/v1/projects/{ME.project_id}/zones/{ME.zone}/instances/{ME.name}"


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated VM whose changes the test makes."""
    async with serving(make_app(GcpScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


@asynccontextmanager
async def daemon(
    directory: Path, cloud: str, google: ScriptedGoogle, **settings: str
) -> AsyncIterator[WatcherProcess]:
    """Run the daemon inside the block."""
    google.good_token = "ya29.simulated"  # noqa: S105 - no secret: what the simulator gives
    run_dir = directory / "run"
    run_dir.mkdir(exist_ok=True)
    variables = {
        "REPRIEVE_GCP_METADATA_ENDPOINT": cloud,
        "REPRIEVE_GCP_COMPUTE_ENDPOINT": google.url,
        **settings,
    }
    watcher = await WatcherProcess.start(run_dir, cloud, "--cloud=gcp", **variables)
    try:
        yield watcher
    finally:
        await watcher.end(signal.SIGKILL)


def vm(name: str, ends_in: timedelta | None = None) -> dict[str, Any]:
    """Return what the API says of the simulated VM."""
    now = datetime.now(UTC)
    message = said(name) | {
        "id": str(ME.id),
        "lastStartTimestamp": rfc3339(now - timedelta(hours=1)),
    }
    message["resourceStatus"] = {}
    if ends_in is not None:
        end = {"terminationTimestamp": rfc3339(now + ends_in)}
        message["resourceStatus"] = {"scheduling": end}
    return message


async def test_flag_is_written_when_the_end_of_the_run_time_is_near(
    tmp_path: Path, cloud: str, google: ScriptedGoogle
) -> None:
    """Kept by our own clock: Google says nothing more until the VM is ended."""
    google.play(VM, (200, vm("instance-flex-start", timedelta(minutes=10))))
    async with daemon(tmp_path, cloud, google) as watcher:
        flag = await watcher.shows("stop")
    assert (flag["kind"], flag["source"], flag["action"]) == (
        "capacity_end",
        "gcp_compute",
        "DELETE",
    )
    assert 500 < flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 600


async def test_node_is_ready_without_a_flag_when_it_may_not_ask(
    tmp_path: Path, cloud: str, google: ScriptedGoogle
) -> None:
    """And says so where people look; the metadata server is heard all the same."""
    google.play(VM, (403, {"error": {"status": "PERMISSION_DENIED", "message": "no scope"}}))
    async with daemon(tmp_path, cloud, google) as watcher:
        await watcher.answers("/readyz", 200)
        await eventually(lambda: "PERMISSION_DENIED: no scope; give the VM's" in watcher.log)
        assert watcher.log.count("source blind source=gcp_compute") == 1
        assert watcher.flag() is None
        await control(cloud, "preempted")
        flag = await watcher.shows("stop")
    assert (flag["kind"], flag["source"]) == ("preemption", "gcp_metadata")


async def test_preemption_has_the_notice_that_the_vm_was_made_with(
    tmp_path: Path, cloud: str, google: ScriptedGoogle
) -> None:
    """Which only the Compute API knows."""
    google.play(VM, (200, vm("instance-spot")))
    async with daemon(tmp_path, cloud, google) as watcher:
        await eventually(lambda: "source answers source=gcp_compute" in watcher.log)
        await control(cloud, "preempted")
        flag = await watcher.shows("stop")
    assert 110 < flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 120


async def test_entry_of_the_log_stops_the_vm_and_is_acknowledged_when_that_is_done(
    tmp_path: Path, cloud: str, google: ScriptedGoogle, emulator: Emulator
) -> None:
    """The second road; what is about others stays where it is."""
    subscribed = await emulator.subscription()
    other = changed("entry-preempted", "resource/labels/instance_id", "7")
    mine = changed("entry-preempted", "resource/labels/instance_id", str(ME.id))
    mine["timestamp"] = rfc3339(datetime.now(UTC))
    settings = {
        "REPRIEVE_GCP_COMPUTE": "off",
        "REPRIEVE_GCP_SUBSCRIPTION": subscribed.name,
        "REPRIEVE_GCP_PUBSUB_ENDPOINT": emulator.url,
    }
    async with daemon(tmp_path, cloud, google, **settings) as watcher:
        await watcher.answers("/readyz", 200)
        await subscribed.publish(json.dumps(other), json.dumps(mine))
        flag = await watcher.shows("stop")
        assert (flag["kind"], flag["source"]) == ("preemption", "gcp_pubsub")
        await eventually(lambda: "message foreign" in watcher.log)
        await eventually(lambda: "message notice" in watcher.log)
        await held_none(watcher)


async def held_none(watcher: WatcherProcess) -> None:
    """Wait until no message is held any more."""
    async with asyncio.timeout(20):
        while "reprieve_messages_held 0.0" not in (await watcher.ask("/metrics"))[1]:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.05)
