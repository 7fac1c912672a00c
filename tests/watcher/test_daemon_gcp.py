"""The daemon as a process, against Compute Engine's metadata server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import (
    WatcherProcess,
    control,
    daemon_process,
    lift_faults,
    requests_seen,
)
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.gcp.identity import Identity
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving

pytestmark = pytest.mark.e2e

PATH = "/computeMetadata/v1/instance/"


@pytest.fixture
def identity() -> Identity:
    """A Spot VM."""
    return Identity()


@pytest.fixture
async def cloud(identity: Identity) -> AsyncIterator[str]:
    """A simulated VM whose changes the test makes."""
    scenario = GcpScenario(identity=identity)
    async with serving(make_app(scenario, ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


def daemon(
    run_dir: Path, url: str, cloud: str = "auto"
) -> AbstractAsyncContextManager[WatcherProcess]:
    """Run the daemon inside the block; it is told where the server is as Google's tools are."""
    host = urlsplit(url).netloc
    variables = {"GCE_METADATA_HOST": host, "REPRIEVE_FACES_BLIND_LIMIT_S": "0.1"}
    return daemon_process(run_dir, url, f"--cloud={cloud}", **variables)


async def state_of(watcher: WatcherProcess) -> dict[str, Any]:
    """Return /v1/state once every key has answered."""
    await watcher.answers("/readyz", 200)
    return await watcher.state()


async def knows_the_vm(watcher: WatcherProcess) -> None:
    """Return once the daemon has learnt what windows depend on."""
    async with asyncio.timeout(20):
        while "zone" not in (await state_of(watcher))["sources"]["gcp_metadata"]["facts"]:  # noqa: ASYNC110 - asked for over HTTP
            await asyncio.sleep(0.02)


async def waits_for(url: str, key: str) -> None:
    """Return once somebody waits for a change of the key."""
    async with asyncio.timeout(20):
        while True:
            asked = [entry for entry in await requests_seen(url) if entry["path"] == PATH + key]
            if asked and "wait_for_change" in asked[-1]["query"]:
                return


async def test_flag_says_so_when_the_vm_is_preempted_in_a_cloud_that_proved_itself(
    run_dir: Path, cloud: str
) -> None:
    """Found by `cloud = auto`, heard by a wait, and written with 30 s to spare."""
    async with daemon(run_dir, cloud) as watcher:
        state = await state_of(watcher)
        assert state["cloud"]["name"] == "gcp"
        await waits_for(cloud, "preempted")
        await eventually(lambda: watcher.flag() is None)
        await control(cloud, "preempted")
        flag = await watcher.shows("stop")
    assert (flag["kind"], flag["source"]) == ("preemption", "gcp_metadata")
    assert 29 < flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 30


async def test_flag_is_written_at_once_when_the_daemon_starts_after_the_preemption(
    run_dir: Path, cloud: str
) -> None:
    """It looks before it waits; and a second start keeps what the first has written."""
    await control(cloud, "preempted")
    async with daemon(run_dir, cloud, "gcp") as watcher:
        first = await watcher.shows("stop")
    async with daemon(run_dir, cloud, "gcp") as watcher:
        await eventually(lambda: watcher.log.count("ready listen=") == 2)
        state = await state_of(watcher)
        again = watcher.flag()
    assert again is not None
    assert (again["id"], again["deadline"]) == (first["id"], first["deadline"])
    assert [entry["id"] for entry in state["in_force"]] == [first["id"]]


async def test_flag_stays_when_the_other_keys_are_clear_or_nothing_can_be_heard(
    run_dir: Path, cloud: str
) -> None:
    """Neither NONE nor 503 nor another server's page takes a preemption back."""
    async with daemon(run_dir, cloud) as watcher:
        await waits_for(cloud, "maintenance-event")
        await control(cloud, "preempted")
        flag = await watcher.shows("stop")
        await control(cloud, "maintenance_event", value="NONE")
        for fault in ({"kind": "status", "status": 503}, {"kind": "html"}):
            await control(cloud, "fault", **fault)
            await control(cloud, "new_etags")
            await eventually(lambda: watcher.log.count("source blind") >= 3)
            await watcher.answers("/readyz", 503)
            await lift_faults(cloud)
            await state_of(watcher)
        assert watcher.flag() == flag


class TestOnDemand:
    """A VM that is no Spot VM."""

    @pytest.fixture
    def identity(self) -> Identity:
        """With GPUs."""
        return Identity(is_preemptible=False)

    async def test_migration_is_advice_and_a_termination_is_planned_when_there_is_an_hour(
        self, run_dir: Path, cloud: str
    ) -> None:
        """The flag comes and goes with the event; what is an hour ahead waits for its time."""
        async with daemon(run_dir, cloud) as watcher:
            await knows_the_vm(watcher)
            await waits_for(cloud, "maintenance-event")
            await control(cloud, "maintenance_event", value="MIGRATE_ON_HOST_MAINTENANCE")
            flag = await watcher.shows("advisory")
            assert flag["kind"] == "live_migration"
            await control(cloud, "maintenance_event", value="NONE")
            await eventually(lambda: watcher.flag() is None)
            await waits_for(cloud, "maintenance-event")
            await control(cloud, "upcoming_maintenance", start_s=7 * 86_400)
            await eventually(lambda: watcher.log.count("notice planned") == 1)
            await control(cloud, "maintenance_event")
            await eventually(lambda: watcher.log.count("notice planned") == 2)
            state = await state_of(watcher)
        far, near = sorted(state["planned"], key=lambda entry: str(entry["action"]))
        assert near["action"] == "TERMINATE_ON_HOST_MAINTENANCE"
        assert near["deadline_unix_s"] - near["acts_from_unix_s"] == 900
        assert far["detail"]["maintenanceReasons"] == "PLANNED_UPDATE"
        assert watcher.flag() is None
