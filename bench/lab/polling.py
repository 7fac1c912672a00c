"""A handler that asks the metadata server for one value on a tick, as most do on GCP.

Source: machine-api-provider-gcp, termination-handler, which polls every 5 s (read 2026-11-30).
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from time import monotonic

import aiohttp


class PollingHandler:
    """Asks every ``every_s`` seconds, and notes when it first sees that the value is another."""

    def __init__(self, every_s: float, url: str, session: aiohttp.ClientSession) -> None:
        self._every_s = every_s
        self._url = url
        self._session = session
        self._value = ""
        self._since = 0.0
        self._changed = asyncio.Condition()

    async def sees(self, value: str) -> float:
        """Wait until it sees this value, and return since when, on the monotonic clock."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._value == value)
        return self._since

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Poll inside the block."""
        polling = asyncio.create_task(self._poll())
        try:
            yield
        finally:
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)

    async def _poll(self) -> None:
        await asyncio.sleep(random.uniform(0.0, self._every_s))  # noqa: S311 - a phase, not a secret
        while True:
            next_at = monotonic() + self._every_s
            async with self._session.get(
                self._url, headers={"Metadata-Flavor": "Google"}
            ) as answer:
                value = await answer.text()
            if value != self._value:
                async with self._changed:
                    self._value, self._since = value, monotonic()
                    self._changed.notify_all()
            await asyncio.sleep(next_at - monotonic())
