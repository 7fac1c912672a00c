"""What the daemon's tests share; the parts themselves are in tests/support."""

from collections.abc import AsyncIterator, Iterator

import pytest
from blockbuster import BlockBuster
from hypothesis import settings

from tests.support.clocks import TurnedClock
from tests.support.scripted_imds import ScriptedImds, scripted_imds
from watcher.metrics import Metrics

# A busy machine is no failure: examples are judged by what they show, not by how long they take.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """Fail a test in which the daemon's code blocks the loop."""
    guard = BlockBuster(scanned_modules="watcher")
    guard.activate()
    yield
    guard.deactivate()


@pytest.fixture
def clock() -> TurnedClock:
    """Clocks that the test turns."""
    return TurnedClock()


@pytest.fixture
def metrics() -> Metrics:
    """A registry of the test's own."""
    return Metrics()


@pytest.fixture
async def imds() -> AsyncIterator[ScriptedImds]:
    """Run a scripted metadata server on loopback."""
    async with scripted_imds() as server:
        yield server
