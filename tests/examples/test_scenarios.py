"""The ready scenarios, played under a clock that the test turns: what each one promises happens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator.scenario_file import load_scenario
from watcher.simulator.server import make_app, serving

DIRECTORY = Path(__file__).parents[2] / "examples" / "scenarios"

ACTION = "meta-data/spot/instance-action"
TERMINATION = "meta-data/spot/termination-time"
REBALANCE = "meta-data/events/recommendations/rebalance"
SCHEDULED = "meta-data/events/maintenance/scheduled"
HISTORY = "meta-data/events/maintenance/history"
STATE = "meta-data/autoscaling/target-lifecycle-state"
ITEM = "meta-data/instance-id"
TOKEN = "a token"  # noqa: S105 - what is asked for, not a secret

HANG_S = 0.3
"""An answer that is to come may take much longer, so a busy machine fails no test."""

Look = tuple[float, str, str]
"""Second, path, and status and a part of the body; a failure is its own word."""

PLAYS: dict[str, list[Look]] = {
    "aws-spot-two-minutes": [
        (9.9, ACTION, "404"),
        (10, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:10Z"}'),
        (60, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:10Z"}'),
    ],
    "aws-rebalance-then-spot": [
        (10, REBALANCE, '200 {"noticeTime":"2026-11-30T11:00:10Z"}'),
        (39.9, ACTION, "404"),
        (40, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:40Z"}'),
        (40, REBALANCE, '200 {"noticeTime":"2026-11-30T11:00:10Z"}'),
    ],
    "aws-hibernate": [
        (10, ACTION, '200 {"action":"hibernate","time":"2026-11-30T11:00:10Z"}'),
        (10, TERMINATION, "404"),
    ],
    "aws-withdrawn": [(10, ACTION, "200"), (29.9, ACTION, "200"), (30, ACTION, "404")],
    "aws-survived": [
        (0, TERMINATION, "200 not scheduled"),
        (10, TERMINATION, "200 2026-11-30T10:58:10Z"),
        (1000, ACTION, '200 {"action":"terminate","time":"2026-11-30T10:58:10Z"}'),
    ],
    "aws-brownout-before-notice": [
        (0, ACTION, "404"),
        (5, ACTION, "503"),
        (5, TOKEN, "503"),
        (15, ACTION, "hangs"),
        (20, ACTION, "ClientOSError"),
        (25, ACTION, "ClientPayloadError"),
        (25, ITEM, "200"),
        (26, ACTION, "ClientPayloadError"),
        (27, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:18Z"}'),
    ],
    "aws-token-storm": [
        (1, ITEM, "200"),
        (10, ITEM, "401"),
        (10, TOKEN, "200"),
        (15, ITEM, "401"),
        (25, TOKEN, "200"),
        (25, ACTION, "401"),
        *[(30, TOKEN, "429")] * 3,
        (30, TOKEN, "200"),
        (30, ACTION, '200 {"action":"terminate"'),
    ],
    "aws-maintenance-in-days": [
        (0, SCHEDULED, "200 []"),
        (5, SCHEDULED, '200 [{"NotBefore":"14 Dec 2026 11:00:05 GMT","Code":"system-reboot"'),
        (15, HISTORY, '200 [{"NotBefore":"14 Dec 2026 11:00:05 GMT"'),
        (15, SCHEDULED, '200 [{"NotBefore":"3 Dec 2026 11:00:10 GMT","Code":"system-maintenance"'),
        (20, SCHEDULED, '200 [{"NotBefore":"30 Nov 2026 12:00:20 GMT"'),
        (25, SCHEDULED, '200 {"NotBefore":"30 Nov 2026 10:00:25 GMT","Code":"instance-retirement"'),
        (30, SCHEDULED, '200 "Description":"[Completed] scheduled maintenance"'),
        (30, HISTORY, '200 "Description":"[Completed] scheduled maintenance"'),
    ],
    "aws-asg-scale-in": [
        (0, STATE, "404"),
        (5, STATE, "200 InService"),
        (20, STATE, "200 Terminated"),
        (20, "meta-data/instance-life-cycle", "200 on-demand"),
    ],
    "aws-odd-bodies": [
        (5, ACTION, '200 {"action":"defenestrate","time":"2026-11-30T11:02:05Z"}'),
        (10, ACTION, '200 {"action":"terminate"}'),
        (15, ACTION, '200 {"action":"terminate","time":"soon"}'),
        (20, ACTION, '200 \ufeff{"action"'),
        (25, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:05Z","addedLater"'),
        (30, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:05Z"}'),
    ],
    "aws-scripted": [
        *[(5, ACTION, "404")] * 2,
        (5, ACTION, "429 slow down"),
        (5, ITEM, "200"),
        (5, ACTION, "hangs"),
        (5, ACTION, "200 <html>"),
        *[(5, ACTION, '200 {"action":"terminate"}')] * 3,
    ],
    "aws-hop-limit": [
        (0, TOKEN, "hangs"),
        (29, TOKEN, "hangs"),
        (30, TOKEN, "200"),
        (30, ACTION, "200"),
    ],
    "aws-version-1-only": [
        (0, TOKEN, "405"),
        (0, ACTION, "404"),
        (10, ACTION, '200 {"action":"terminate"'),
        (40, ACTION, "403"),
    ],
    "aws-clock-off": [(10, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:00:40Z"}')],
    "aws-sliding-time": [
        (10, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:10Z"}'),
        (20, ACTION, '200 {"action":"terminate","time":"2026-11-30T11:02:20Z"}'),
    ],
}


@asynccontextmanager
async def playing(name: str, clock: TurnedClock) -> AsyncIterator[Simulator]:
    """Serve a ready scenario to a client that has no token yet."""
    app = make_app(load_scenario(DIRECTORY / f"{name}.toml"), clock.scenario)
    async with serving(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        yield Simulator(url, session)


async def look(simulator: Simulator, path: str, limit_s: float = 20) -> str:
    """Ask once; a good token is kept for the next look."""
    token = {"X-aws-ec2-metadata-token": simulator.token} if simulator.token else {}
    asking = simulator.mint() if path == TOKEN else simulator.ask("GET", f"/latest/{path}", token)
    try:
        async with asyncio.timeout(limit_s):
            answer = await asking
    except TimeoutError:
        return "hangs"
    except aiohttp.ClientError as error:
        return type(error).__name__
    if path == TOKEN and answer.status == 200:
        simulator.token = answer.body
    return f"{answer.status} {answer.body}"


@pytest.mark.parametrize("name", PLAYS)
async def test_scenario_plays_what_it_promises(name: str) -> None:
    """Second by second, as a client sees it."""
    clock = TurnedClock()
    async with playing(name, clock) as simulator:
        if PLAYS[name][0][1] != TOKEN:
            await look(simulator, TOKEN)
        for at_s, path, expected in PLAYS[name]:
            clock.turn(at_s - clock.scenario.elapsed_s())
            seen = await look(simulator, path, HANG_S if expected == "hangs" else 20)
            status, _, part = expected.partition(" ")
            assert seen.startswith(status), f"{path} at {at_s} s: {seen}"
            assert part in seen, f"{path} at {at_s} s: {seen}"


def test_every_ready_scenario_is_played() -> None:
    """None is left out, and none is there only in the test."""
    assert {file.stem for file in DIRECTORY.glob("aws-*")} == PLAYS.keys()
