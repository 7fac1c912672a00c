"""A client of the Azure simulator."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.support.simulated_aws import Answer, Simulator, TurnedClock
from watcher.simulator.azure.scenario import AzureScenario
from watcher.simulator.server import make_app, serving

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
NAME = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
HEADERS = {"Metadata": "true"}


class AzureSimulator(Simulator):
    """A client that is let in."""

    async def document(self) -> dict[str, Any]:
        """Return the document of events."""
        answer = await self.ask("GET", EVENTS, HEADERS)
        assert (answer.status, answer.content_type.partition(";")[0]) == (200, "application/json")
        content: dict[str, Any] = json.loads(answer.body)
        return content

    async def events(self) -> list[dict[str, Any]]:
        """Return the events of the document."""
        return list((await self.document())["Events"])

    async def post(self, body: bytes, headers: dict[str, str] | None = None) -> Answer:
        """Send a request to start events."""
        sent = self._session.post(self.url + EVENTS, data=body, headers=headers or HEADERS)
        async with sent as response:
            return Answer(response.status, "", await response.text(), dict(response.headers))

    async def approve(self, event_id: str) -> int:
        """Ask for an event to start, and return the status."""
        return (
            await self.post(json.dumps({"StartRequests": [{"EventId": event_id}]}).encode())
        ).status


@asynccontextmanager
async def simulated_azure(
    clock: TurnedClock, scenario: AzureScenario
) -> AsyncIterator[AzureSimulator]:
    """Serve a scenario on a free port of loopback."""
    async with (
        serving(make_app(scenario, clock.scenario), "127.0.0.1", 0) as url,
        aiohttp.ClientSession(trust_env=False) as session,
    ):
        yield AzureSimulator(url, session)
