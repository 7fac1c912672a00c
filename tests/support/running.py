"""Work that goes on beside a test."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def running(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run what never ends by itself; a bug in it fails the test."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        ended = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not ended, ended
