"""Google for the tests of what calls its APIs."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.pubsub_emulator import Emulator, pubsub_emulator
from tests.support.scripted_google import ScriptedGoogle, scripted_google


@pytest.fixture
async def google() -> AsyncIterator[ScriptedGoogle]:
    """Run Google on loopback."""
    async with scripted_google() as server:
        yield server


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """Run one Pub/Sub for all tests."""
    with pubsub_emulator() as running:
        yield running
