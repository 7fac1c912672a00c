"""A handler that polls on top of polling, as the common one for Spot nodes does.

A monitor asks the metadata service on a tick of 2 s and puts what is new into a store; a loop of
its own looks into the store on a tick of 1 s, and acts. Nothing else of such a handler is here:
no API call, no drain, so this is the best it could do. The two ticks have a random phase to each
other: started together, the second would always just miss what the first is about to learn.

Source: aws-node-termination-handler, cmd/node-termination-handler.go (read 2026-11-30).
"""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator

import aiohttp

from lab.nodes import Arrivals

MONITOR_S = 2.0
ACTION_S = 1.0

_TOKEN_PATH = "/latest/api/token"  # noqa: S105 - a path, not a secret
_SPOT_PATH = "/latest/meta-data/spot/instance-action"


class TickingHandler:
    """Two ticking loops and the store between them, against one metadata service."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.acted = Arrivals()
        self._url = url
        self._session = session
        self._store: list[str] = []
        self._last = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Tick inside the block."""
        headers = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}
        async with self._session.put(self._url + _TOKEN_PATH, headers=headers) as answer:
            token = await answer.text()
        loops = [asyncio.create_task(self._monitor(token)), asyncio.create_task(self._act())]
        try:
            yield
        finally:
            for task in loops:
                task.cancel()
            await asyncio.gather(*loops, return_exceptions=True)

    async def _monitor(self, token: str) -> None:
        headers = {"X-aws-ec2-metadata-token": token}
        async for _ in _ticks(MONITOR_S):
            async with self._session.get(self._url + _SPOT_PATH, headers=headers) as answer:
                body = await answer.text()
            if answer.status == 200 and body != self._last:
                self._last = body
                self._store.append(json.loads(body)["time"])

    async def _act(self) -> None:
        await asyncio.sleep(random.uniform(0.0, ACTION_S))  # noqa: S311 - a phase, not a secret
        async for _ in _ticks(ACTION_S):
            while self._store:
                self.acted.note(self._store.pop(0))


async def _ticks(every_s: float) -> AsyncIterator[None]:
    """Yield on a grid that does not drift; a tick that was missed is dropped."""
    clock = asyncio.get_running_loop().time
    start, tick = clock(), 0
    while True:
        tick = max(tick + 1, int((clock() - start) / every_s))
        await asyncio.sleep(start + tick * every_s - clock())
        yield
