"""The simulator as a whole: when its scenario starts, and how it ends."""

import asyncio
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.support.simulated_aws import TurnedClock
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.server import make_app, serving


async def test_scenario_starts_when_the_server_does(
    scenario: AwsScenario, clock: TurnedClock
) -> None:
    """Time between building and serving is not counted against the notice."""
    app = make_app(scenario, clock.scenario)
    clock.turn(1000)
    async with serving(app, "127.0.0.1", 0):
        assert clock.scenario.elapsed_s() == 0


async def test_simulators_share_nothing_when_two_run_at_once() -> None:
    """A notice, a fault and a token of one are unknown to the other."""
    async with (
        serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as one,
        serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as other,
        aiohttp.ClientSession() as session,
    ):
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        async with session.put(one + "/latest/api/token", headers=ttl) as response:
            token = {"X-aws-ec2-metadata-token": await response.text()}
        await session.post(one + "/simulator/notice")
        statuses = {}
        for url in (one, other):
            path = url + "/latest/meta-data/spot/instance-action"
            async with session.get(path, headers=token) as response:
                statuses[url] = response.status
    assert statuses == {one: 200, other: 401}


async def test_serving_ends_when_a_request_hangs() -> None:
    """A request that hangs on purpose does not keep the simulator from ending."""
    async with aiohttp.ClientSession() as session:
        async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", 0) as url:
            await session.post(url + "/simulator/fault", json={"kind": "hang"})
            hanging = asyncio.create_task(session.get(url + "/latest/meta-data/"))
            logged: list[object] = []
            while not logged:
                async with session.get(url + "/simulator/requests") as response:
                    logged = (await response.json())["requests"]
        with pytest.raises(aiohttp.ClientError):
            await hanging


async def test_serving_is_refused_when_the_port_is_taken() -> None:
    """The second one gets an OSError that names the address."""
    app = make_app(AwsScenario(), ScenarioClock())
    async with serving(app, "127.0.0.1", 0) as url:
        port = urlsplit(url).port
        assert port
        with pytest.raises(OSError, match=str(port)):
            async with serving(make_app(AwsScenario(), ScenarioClock()), "127.0.0.1", port):
                pytest.fail("served twice on one port")


async def test_serving_brackets_the_host_when_it_is_ipv6() -> None:
    """The URL can be used as it is."""
    async with AsyncExitStack() as stack:
        app = make_app(AwsScenario(), ScenarioClock())
        try:
            url = await stack.enter_async_context(serving(app, "::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6 loopback")
        assert url.startswith("http://[::1]:")
        session = await stack.enter_async_context(aiohttp.ClientSession())
        async with session.get(url + "/latest/meta-data/") as response:
            assert response.status == 401
