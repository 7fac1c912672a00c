"""Who keeps a place at the faces, and who gives it up, by real connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web

from tests.support.clocks import eventually
from tests.support.served_faces import served_faces
from watcher.faces import server


class Desk:
    """A handler that answers when it is let, and knows how many wait for that."""

    def __init__(self) -> None:
        self.waiting = 0
        self.opens = asyncio.Event()

    async def slow(self, _request: web.Request) -> web.Response:
        """Answer once the desk opens."""
        self.waiting += 1
        await self.opens.wait()
        return web.Response(text="hello")

    async def hello(self, _request: web.Request) -> web.Response:
        """Answer at once."""
        return web.Response(text="hello")


class Client:
    """One connection that is kept alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def ask(self, path: str) -> None:
        """Send a request."""
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    async def answered(self) -> bool:
        """Tell whether an answer comes, or the end of the connection."""
        async with asyncio.timeout(20):
            try:
                return b" 200 OK" in await self._reader.readuntil(b"hello")
            except (asyncio.IncompleteReadError, ConnectionResetError):
                return False

    async def served(self) -> bool:
        """Ask, and tell whether an answer comes."""
        self.ask("/hello")
        return await self.answered()

    async def is_sent_away(self) -> bool:
        """Wait for the end of the connection; time runs out where it does not come."""
        return not await self.answered()

    async def leave(self) -> None:
        """Close the connection."""
        self._writer.close()


Connect = Callable[[], Awaitable[Client]]


@asynccontextmanager
async def places(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> AsyncIterator[tuple[Desk, Connect]]:
    """Serve so many clients at a time, however long they are silent; give what connects one."""
    monkeypatch.setattr(server, "_PLACES", limit)
    monkeypatch.setattr(server, "_IDLE_LIMIT_S", 600.0)
    desk = Desk()
    async with AsyncExitStack() as stack:
        routes = {"/hello": desk.hello, "/slow": desk.slow}
        faces = await stack.enter_async_context(served_faces(routes))
        host, port = faces.url.removeprefix("http://").split(":")

        async def connect() -> Client:
            client = Client(*await asyncio.open_connection(host, int(port)))
            stack.push_async_callback(client.leave)
            return client

        yield desk, connect
        desk.opens.set()


async def test_longest_silent_client_gives_its_place_up_when_another_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody keeps the probes out by holding connections; those in use are not cut."""
    async with places(monkeypatch, 3) as (_, connect):
        first, second, third = [await connect() for _ in range(3)]
        for client in (second, third, first):
            assert await client.served()
        fourth = await connect()
        assert await fourth.served()
        assert await second.is_sent_away()
        for client in (third, first, fourth):
            assert await client.served()


async def test_every_newcomer_is_served_when_silent_ones_hold_all_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several that come in one go get a place each, also from clients that never asked."""
    async with places(monkeypatch, 8) as (_, connect):
        silent = [await connect() for _ in range(8)]
        come = await asyncio.gather(*(connect() for _ in range(8)))
        assert await asyncio.gather(*(client.served() for client in come)) == [True] * 8
        assert [await client.is_sent_away() for client in silent] == [True] * 8


async def test_newcomer_is_sent_away_when_all_places_are_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever is being answered stays; a place is free again when its holder leaves."""
    async with places(monkeypatch, 2) as (desk, connect):
        held = [await connect() for _ in range(2)]
        for client in held:
            client.ask("/slow")
        await eventually(lambda: desk.waiting == 2)
        assert not await (await connect()).served()
        await held[0].leave()
        async with asyncio.timeout(20):
            while not await (await connect()).served():
                pass
        desk.opens.set()
        assert await held[1].answered()
