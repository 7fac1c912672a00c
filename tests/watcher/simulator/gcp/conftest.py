"""A simulated VM on a real socket, with clocks that the test turns."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.support.simulated_aws import TurnedClock
from tests.support.simulated_gcp import GcpSimulator
from watcher.simulator.gcp.scenario import GcpScenario
from watcher.simulator.server import make_app, serving


@pytest.fixture
def scenario() -> GcpScenario:
    """Nothing happens by itself."""
    return GcpScenario()


@pytest.fixture
async def simulator(clock: TurnedClock, scenario: GcpScenario) -> AsyncIterator[GcpSimulator]:
    """Serve the scenario on a free port of loopback."""
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        serving(make_app(scenario, clock.scenario), "127.0.0.1", 0) as url,
        aiohttp.ClientSession(trust_env=False, connector=connector) as session,
    ):
        yield GcpSimulator(url, session)
