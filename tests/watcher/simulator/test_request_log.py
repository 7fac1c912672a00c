"""The log tells what was asked, in order, over how many connections."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator import request_log
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving


async def test_request_log_shows_what_mattered(simulator: Simulator, clock: TurnedClock) -> None:
    """Moment, method, path, headers and status of each request, the fixture's token call first."""
    clock.turn(2)
    await simulator.get("meta-data/spot/instance-action?a=1&b=%20c")
    minted, asked = await simulator.requests()
    assert (minted["method"], minted["path"], minted["status"]) == ("PUT", "/latest/api/token", 200)
    assert asked == {
        "at_s": 2,
        "method": "GET",
        "path": "/latest/meta-data/spot/instance-action",
        "query": "a=1&b=%20c",
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
    app = make_app(AwsScenario(), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        for path in ("/latest/1", "/latest/2", "/latest/3"):
            await session.get(url + path)
        async with session.get(url + "/simulator/requests") as response:
            entries = (await response.json())["requests"]
    assert [entry["path"] for entry in entries] == ["/latest/2", "/latest/3"]


def test_json_lines_hold_every_request_when_it_has_ended(tmp_path: Path) -> None:
    """The log's own entries, appended in the order of their ends; one that hangs has no status."""

    async def ask(ended: request_log.Ended) -> list[dict[str, object]]:
        app = make_app(AwsScenario(), ScenarioClock(), ended)
        async with serving(app, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
            await session.post(url + "/simulator/fault", json={"kind": "hang", "count": 1})
            hanging = asyncio.create_task(session.get(url + "/latest/hangs"))
            while not await logged(session, url):
                assert not hanging.done()
            await session.get(url + "/latest/answered")
            hanging.cancel()
            return await logged(session, url)

    path = tmp_path / "requests.jsonl"
    path.write_text("from an earlier run\n")
    with request_log.json_lines(path) as ended:
        hangs, answered = asyncio.run(ask(ended))
    earlier, *lines = path.read_text().splitlines()
    assert earlier == "from an earlier run"
    assert [json.loads(line) for line in lines] == [answered, hangs]
    assert (hangs["status"], answered["status"]) == (None, 401)


def test_json_lines_are_refused_when_the_file_cannot_be_written(tmp_path: Path) -> None:
    """Before anything is served."""
    with (
        pytest.raises(OSError, match="nowhere"),
        request_log.json_lines(tmp_path / "nowhere" / "x"),
    ):
        pytest.fail("nobody will ever see these requests")


async def logged(session: aiohttp.ClientSession, url: str) -> list[dict[str, object]]:
    """Return the request log."""
    async with session.get(url + "/simulator/requests") as response:
        document: dict[str, list[dict[str, object]]] = await response.json()
    return document["requests"]
