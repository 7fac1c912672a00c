"""What the daemon's tests share; the parts themselves are in tests/support."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster
from hypothesis import settings

from tests.support.clocks import TurnedClock
from tests.support.moto_aws import Moto, moto_aws
from tests.support.pubsub_emulator import Emulator, pubsub_emulator
from tests.support.scripted_google import ScriptedGoogle, scripted_google
from tests.support.scripted_imds import ScriptedImds, scripted_imds
from watcher.metrics import Metrics

# A busy machine is no failure: examples are judged by what they show, not by how long they take.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """Fail a test in which the daemon's code blocks the loop."""
    guard = BlockBuster(scanned_modules="watcher")
    for function in guard.functions.values():  # what can't hang, on a tmpfs
        function.can_block_in("watcher/side_thread.py", "_at_once")
    guard.activate()
    yield
    guard.deactivate()


@pytest.fixture
def clock() -> TurnedClock:
    """Clocks that the test turns."""
    return TurnedClock()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """An empty run directory."""
    path = tmp_path / "run"
    path.mkdir()
    return path


@pytest.fixture
def metrics() -> Metrics:
    """A registry of the test's own."""
    return Metrics()


@pytest.fixture
async def imds() -> AsyncIterator[ScriptedImds]:
    """Run a scripted metadata server on loopback."""
    async with scripted_imds() as server:
        yield server


@pytest.fixture
async def google() -> AsyncIterator[ScriptedGoogle]:
    """Run Google's metadata server and APIs on loopback, as a script."""
    async with scripted_google() as server:
        yield server


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """Run one Pub/Sub for all tests, each of which has subscriptions of its own."""
    with pubsub_emulator() as running:
        yield running


@pytest.fixture(scope="session")
def moto_process() -> Iterator[Moto]:
    """Run one AWS for all tests, each of which has queues of its own."""
    with moto_aws() as server:
        yield server


@pytest.fixture
def moto(moto_process: Moto, monkeypatch: pytest.MonkeyPatch) -> Moto:
    """Let boto3 find the AWS on loopback."""
    for name, value in moto_process.environment.items():
        monkeypatch.setenv(name, value)
    return moto_process
