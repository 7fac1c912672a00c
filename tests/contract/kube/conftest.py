"""One fake API server for each test, with a client."""

from collections.abc import AsyncIterator

import pytest

from tests.support.kube import Kube, running_kube


@pytest.fixture
async def kube() -> AsyncIterator[Kube]:
    """Run the fake with one client."""
    async with running_kube() as kube:
        yield kube
