"""A client of the GCP simulator, which says what it means as Google's own clients do."""

import asyncio
from urllib.parse import urlencode

from tests.support.simulated_aws import Answer, Simulator

FLAVOR = {"Metadata-Flavor": "Google"}
PREFIX = "/computeMetadata/v1/"


class GcpSimulator(Simulator):
    """Asks for items under ``/computeMetadata/v1/``."""

    async def item(self, path: str, **query: str | int) -> Answer:
        """Get an item with the header that is asked for."""
        asked = f"{PREFIX}{path}?{urlencode(query)}" if query else PREFIX + path
        return await self.ask("GET", asked, FLAVOR)

    async def waiting(self, path: str, **query: str | int) -> "asyncio.Task[Answer]":
        """Ask to be answered when the item changes; return once the simulator has the request."""
        before = len(await self.requests())
        task = asyncio.create_task(self.item(path, wait_for_change="true", **query))
        async with asyncio.timeout(20):
            while len(await self.requests()) == before:
                pass
        return task
