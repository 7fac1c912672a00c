"""A simulator on a real socket, with clocks that the test turns."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.support.simulated_aws import Simulator, TurnedClock
from watcher.simulator.aws.changes import (
    NoticeIssued,
    NoticeWithdrawn,
    RebalanceRecommended,
    SpotAction,
)
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.server import make_app, serving


@pytest.fixture
def clock() -> TurnedClock:
    """Clocks that stand still."""
    return TurnedClock()


@pytest.fixture
def scenario() -> AwsScenario:
    """Rebalance at 5 s, a notice at 10 s with 120 s, withdrawn at 60 s."""
    return AwsScenario(
        changes=(
            NoticeIssued(at_s=10, action=SpotAction.TERMINATE, window_s=120),
            RebalanceRecommended(at_s=5),
            NoticeWithdrawn(at_s=60),
        )
    )


@pytest.fixture
async def simulator(clock: TurnedClock, scenario: AwsScenario) -> AsyncIterator[Simulator]:
    """Serve the scenario on a free port of loopback."""
    app = make_app(scenario, clock.scenario)
    async with (
        serving(app, "127.0.0.1", 0) as url,
        aiohttp.ClientSession(trust_env=False) as session,
    ):
        client = Simulator(url, session)
        client.token = (await client.mint()).body
        yield client
