"""The fake API server with a client that takes every answer as it comes."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.fakes.kube.access import ADMIN
from tests.fakes.kube.patches import MERGE
from tests.fakes.kube.server import FakeApiServer, fake_api_server

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/team-a/pods"


@dataclass(frozen=True)
class Reply:
    """One answer: status, body and headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Kube:
    """The fake, and a client of it that has no opinion."""

    def __init__(self, server: FakeApiServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.cluster = server.cluster
        self.token = ADMIN
        self._session = session

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        media: str = "application/json",
        **query: str,
    ) -> Reply:
        """Send one request."""
        async with self._session.request(
            method,
            self.server.url + path,
            data=None if body is None else json.dumps(body),
            headers=self._headers | {"Content-Type": media},
            params=query,
        ) as response:
            return Reply(response.status, await response.json(), response.headers)

    async def patch(self, path: str, body: object, *, media: str = MERGE, **query: str) -> Reply:
        """Send a PATCH."""
        return await self.ask("PATCH", path, body, media=media, **query)

    async def evict(self, pod: str, **options: object) -> Reply:
        """Evict a pod with these options of its deletion."""
        meta = {"name": pod, "namespace": "team-a"}
        body = {"metadata": meta, "deleteOptions": options}
        return await self.ask("POST", f"{PODS}/{pod}/eviction", body)

    @asynccontextmanager
    async def watching(self, path: str, **query: str) -> AsyncIterator["Lines"]:
        """Open a watch."""
        params = {"watch": "1", **query}
        async with self._session.get(
            self.server.url + path, headers=self._headers, params=params
        ) as response:
            assert response.status == 200
            yield Lines(response)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class Lines:
    """What a watch says."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self) -> tuple[str, dict[str, Any]]:
        """Return the next line: its type and object."""
        line = json.loads(await self._response.content.readline())
        return line["type"], line["object"]

    async def is_over(self) -> bool:
        """Tell whether the watch has ended in order."""
        return await self._response.content.readline() == b""


@asynccontextmanager
async def running_kube() -> AsyncIterator[Kube]:
    """Run the fake with one client."""
    async with fake_api_server() as server, aiohttp.ClientSession() as session:
        yield Kube(server, session)
