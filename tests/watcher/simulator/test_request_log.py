"""The log tells what was asked, in order, over how many connections."""

import aiohttp
import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator import request_log
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.scenario import Scenario
from watcher.simulator.server import make_app, serving


async def test_request_log_shows_what_mattered(simulator: Simulator, clock: TurnedClock) -> None:
    """Moment, method, path, headers and status of each request, the fixture's token call first."""
    clock.turn(2)
    await simulator.get("meta-data/spot/instance-action")
    minted, asked = await simulator.requests()
    assert (minted["method"], minted["path"], minted["status"]) == ("PUT", "/latest/api/token", 200)
    assert asked == {
        "at_s": 2,
        "method": "GET",
        "path": "/latest/meta-data/spot/instance-action",
        "headers": asked["headers"],
        "connection": asked["connection"],
        "fault": None,
        "status": 404,
    }
    assert isinstance(asked["headers"], dict)
    assert asked["headers"]["X-aws-ec2-metadata-token"] == simulator.token
    assert "Host" in asked["headers"]


async def test_request_log_shows_a_proxys_traces(simulator: Simulator) -> None:
    """Via and X-Forwarded-For are kept."""
    traces = {"Via": "1.1 proxy", "X-Forwarded-For": "203.0.113.9"}
    await simulator.ask("PUT", "/latest/api/token", traces)
    headers = (await simulator.requests())[-1]["headers"]
    assert isinstance(headers, dict)
    assert traces.items() <= headers.items()


async def test_request_log_leaves_out_the_control_path(simulator: Simulator) -> None:
    """Only what the cloud would have been asked, refused methods included."""
    await simulator.control("POST", "rebalance")
    await simulator.requests()
    await simulator.ask("POST", "/latest/api/token")
    assert [entry["status"] for entry in await simulator.requests()] == [200, 405]


async def test_request_log_numbers_connections(simulator: Simulator) -> None:
    """One number while a connection is kept alive, a new one for each new connection."""
    kept = [await simulator.get("meta-data/") for _ in range(3)]
    for _ in range(2):
        async with (
            aiohttp.ClientSession() as session,
            session.get(simulator.url + "/latest/meta-data/") as response,
        ):
            assert response.status == 401
    numbers = [entry["connection"] for entry in await simulator.requests()]
    assert len(kept) == 3
    assert numbers == [1, 1, 1, 1, 2, 3]


async def test_request_log_forgets_the_oldest_when_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator that runs for weeks keeps the last requests only."""
    monkeypatch.setattr(request_log, "KEPT", 2)
    app = make_app(Scenario(), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        for path in ("/latest/1", "/latest/2", "/latest/3"):
            await session.get(url + path)
        async with session.get(url + "/simulator/requests") as response:
            entries = (await response.json())["requests"]
    assert [entry["path"] for entry in entries] == ["/latest/2", "/latest/3"]
