"""The daemon as a process, against everything but Spot that EC2's metadata service tells."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clocks import eventually
from tests.support.watcher_process import WatcherProcess, control, daemon_process
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving
from watcher.sources import aws_diagnosis

pytestmark = pytest.mark.e2e


@pytest.fixture
async def cloud() -> AsyncIterator[str]:
    """A simulated EC2 whose changes the test makes."""
    scenario = AwsScenario(life_cycle="capacity-block")
    async with serving(make_app(scenario, ScenarioClock()), "127.0.0.1", 0) as url:
        yield url


async def state_of(watcher: WatcherProcess) -> dict[str, Any]:
    """Return /v1/state once every key has answered."""
    await watcher.answers("/readyz", 200)
    return await watcher.state()


async def eventually_known(watcher: WatcherProcess, fact: str, word: str) -> None:
    """Wait until the daemon shows this fact about its instance."""
    async with asyncio.timeout(20):
        while (await state_of(watcher))["sources"]["aws_imds"]["facts"].get(fact) != word:  # noqa: ASYNC110 - asked for over HTTP
            await asyncio.sleep(0.02)


async def test_event_far_ahead_is_planned_and_a_near_one_in_force_when_both_are_listed(
    run_dir: Path, cloud: str
) -> None:
    """The flag shows the near one alone; people see both, and which instance it is."""
    await control(cloud, "maintenance", event_id="far", not_before_s=14 * 86_400)
    await control(cloud, "maintenance", event_id="near", not_before_s=600)
    async with daemon_process(run_dir, cloud) as watcher:
        flag = await watcher.shows("stop")
        assert (flag["kind"], flag["detail"]["EventId"]) == ("maintenance", "near")
        assert 0 < flag["deadline_boottime_s"] - flag["written_boottime_s"] <= 600
        assert flag["also"] == []
        await eventually_known(watcher, "instanceLifeCycle", "capacity-block")
        state = await state_of(watcher)
    (planned,) = state["planned"]
    assert planned["detail"]["EventId"] == "far"
    assert planned["deadline_unix_s"] - planned["acts_from_unix_s"] == 900
    assert planned["actions"] == {}


async def test_flag_comes_and_goes_when_the_group_changes_its_mind(
    run_dir: Path, cloud: str
) -> None:
    """The group's own word takes its notice back; the log and the state say what came of it."""
    await control(cloud, "asg", target_state="Terminated")
    async with daemon_process(run_dir, cloud) as watcher:
        flag = await watcher.shows("stop")
        assert (flag["kind"], flag["deadline"]) == ("termination", None)
        await control(cloud, "asg", target_state="InService")
        await eventually(lambda: watcher.flag() is None)
        await eventually(lambda: "notice withdrawn outcome=over" in watcher.log)
        (past,) = (await state_of(watcher))["past"]
    assert (past["id"], past["outcome"]) == (flag["id"], "over")


async def test_flag_leaves_no_time_when_the_instance_is_hibernated(
    run_dir: Path, cloud: str
) -> None:
    """EC2 begins with the notice; flag and signal are out, and nothing waits."""
    await control(cloud, "notice", action="hibernate")
    async with daemon_process(run_dir, cloud) as watcher:
        flag = await watcher.shows("stop")
    assert (flag["action"], flag["deadline"]) == ("hibernate", flag["received_at"])


@pytest.mark.parametrize(
    ("change", "fields", "words"),
    [
        ("fault", {"kind": "hang", "path_prefix": "/latest/api/token"}, aws_diagnosis.HOP_LIMIT),
        ("metadata_options", {"http_endpoint": "disabled"}, aws_diagnosis.SWITCHED_OFF),
    ],
    ids=["hop limit", "switched off"],
)
async def test_readyz_and_state_say_what_to_do_when_nothing_can_be_heard(
    run_dir: Path, cloud: str, change: str, fields: dict[str, object], words: str
) -> None:
    """The same words in each of the three places where a person may look."""
    await control(cloud, change, **fields)
    async with daemon_process(run_dir, cloud) as watcher:
        await eventually(lambda: words in watcher.log)
        assert words in await watcher.answers("/readyz", 503)
        assert words in (await watcher.ask("/v1/state"))[1]
