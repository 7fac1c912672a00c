"""One node with an API server for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.own_node import OwnNode, own_node


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[OwnNode]:
    """Run the fake with a client that waits for an answer as long as a busy machine takes."""
    async with own_node(tmp_path, limit_s=20.0) as own:
        yield own


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[OwnNode]:
    """Run the fake with a client that gives an answer up soon."""
    async with own_node(tmp_path, limit_s=0.1) as own:
        yield own
