"""The daemon's faces on a real socket, and a client of them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp

from watcher.config import Address
from watcher.faces.server import Handler, keep_serving

ANY_PORT = Address("127.0.0.1", 0)


class ServedFaces:
    """A client of a running server of faces."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self._session = session

    async def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        """Return status and body of one request."""
        async with self._session.request(method, self.url + path, headers=headers) as response:
            return response.status, await response.text()


@asynccontextmanager
async def served_faces(
    routes: Mapping[str, Handler], address: Address = ANY_PORT
) -> AsyncIterator[ServedFaces]:
    """Serve these routes as the daemon does."""
    bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(keep_serving(routes, address, bound))
    async with aiohttp.ClientSession() as session:
        yield ServedFaces(await bound, session)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
