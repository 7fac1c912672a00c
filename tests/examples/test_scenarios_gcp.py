"""The ready scenarios of Compute Engine, played under a clock that the test turns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.support.simulated_aws import TurnedClock
from tests.support.simulated_gcp import GcpSimulator
from watcher.simulator.scenario_file import load_scenario
from watcher.simulator.server import make_app, serving

DIRECTORY = Path(__file__).parents[2] / "examples" / "scenarios"

PREEMPTED = "instance/preempted"
EVENT = "instance/maintenance-event"
UPCOMING = "instance/upcoming-maintenance"

Look = tuple[float, str, str]
"""Second, path, and status and a part of the body; a failure is its own word."""

PLAYS: dict[str, list[Look]] = {
    "gcp-spot-preempted": [(9.9, PREEMPTED, "200 FALSE"), (10, PREEMPTED, "200 TRUE")],
    "gcp-gpu-maintenance": [
        (0, UPCOMING, '503 {"error":"no notifications'),
        (0, EVENT, "200 NONE"),
        (5, UPCOMING, '200 "latest_window_start_time":"2026-12-07T11:00:05Z"'),
        (5, UPCOMING, '200 "window_start_time":"2026-12-02T11:00:05Z"'),
        (10, UPCOMING, '200 "window_start_time":"2026-12-03T11:00:10Z"'),
        (15, UPCOMING, '200 "maintenance_status":"ONGOING"'),
        (15, EVENT, "200 TERMINATE_ON_HOST_MAINTENANCE"),
        (60, EVENT, "200 NONE"),
        (60, UPCOMING, "200 {}"),
    ],
    "gcp-live-migration": [
        (0, UPCOMING, "404"),
        (0, EVENT, "200 NONE"),
        (10, EVENT, "200 MIGRATE_ON_HOST_MAINTENANCE"),
        (40, EVENT, "200 NONE"),
        (60, EVENT, "200 MIGRATE_ON_HOST_MAINTENANCE"),
    ],
    "gcp-flip-and-back": [
        (10, PREEMPTED, "200 TRUE"),
        (10.1, PREEMPTED, "200 FALSE"),
        (20, PREEMPTED, "200 TRUE"),
    ],
    "gcp-upcoming-shapes": [
        (0, UPCOMING, "200 {}"),
        (5, UPCOMING, "200 NONE"),
        (10, UPCOMING, '200 "NONE"'),
        (15, UPCOMING, '503 {"error"'),
        (20, UPCOMING, "404"),
        (25, UPCOMING, '200 "window_start_time":"2026-12-07T11:00:25Z"'),
        (30, UPCOMING, '200 "maintenanceReasons":["FAILURE_GPU_XID","FAILURE_NVLINK"]'),
        (35, UPCOMING, '200 {"Upcoming maintenance":{"can_reschedule"'),
    ],
    "gcp-brownout": [
        (5, PREEMPTED, "503"),
        (15, EVENT, "ClientOSError"),
        (20, PREEMPTED, "429 slow down"),
        (20, PREEMPTED, "200 <html>"),
        (20, PREEMPTED, "ClientPayloadError"),
        (20, PREEMPTED, "200 PERHAPS"),
        (20, PREEMPTED, "200 TRUE"),
    ],
}


@asynccontextmanager
async def playing(name: str, clock: TurnedClock) -> AsyncIterator[GcpSimulator]:
    """Serve a ready scenario."""
    app = make_app(load_scenario(DIRECTORY / f"{name}.toml", "gcp"), clock.scenario)
    async with serving(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        yield GcpSimulator(url, session)


@pytest.mark.parametrize("name", PLAYS)
async def test_scenario_plays_what_it_promises(name: str) -> None:
    """Second by second, as a client sees it."""
    clock = TurnedClock()
    async with playing(name, clock) as simulator:
        for at_s, path, expected in PLAYS[name]:
            clock.turn(at_s - clock.scenario.elapsed_s())
            try:
                answer = await simulator.item(path)
                seen = f"{answer.status} {answer.body}"
            except aiohttp.ClientError as error:
                seen = type(error).__name__
            status, _, part = expected.partition(" ")
            assert seen.startswith(status), f"{path} at {at_s} s: {seen}"
            assert part in seen, f"{path} at {at_s} s: {seen}"


async def test_second_migration_comes_unannounced_when_nobody_has_read_the_key_again() -> None:
    """Google warns those alone who have asked since the last event."""
    clock = TurnedClock()
    async with playing("gcp-live-migration", clock) as simulator:
        await simulator.item(EVENT)
        clock.turn(60)
        assert (await simulator.item(EVENT)).body == "NONE"


async def test_flip_and_back_is_seen_by_the_etag_when_nobody_was_waiting() -> None:
    """What it was meanwhile is not."""
    clock = TurnedClock()
    async with playing("gcp-flip-and-back", clock) as simulator:
        known = (await simulator.item(PREEMPTED)).headers["etag"]
        for at_s in (5, 15):
            clock.turn(at_s - clock.scenario.elapsed_s())
            answer = await simulator.item(PREEMPTED, wait_for_change="true", last_etag=known)
            assert answer.body == "FALSE"
            assert answer.headers["etag"] != known
            known = answer.headers["etag"]


def test_every_ready_scenario_is_played() -> None:
    """None is left out, and none is there only in the test."""
    assert {file.stem for file in DIRECTORY.glob("gcp-*")} == PLAYS.keys()
