"""A way to a server on which connections can die without a word, as in a live migration."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Way:
    """Passes bytes both ways until it is told that what is open now is dead."""

    def __init__(self, host: str, port: int) -> None:
        self.url = ""
        self.connections = 0
        self.carriers: set[asyncio.Task[None]] = set()
        self._to = (host, port)
        self._lost = asyncio.Event()

    def cut(self) -> None:
        """Lose every byte of the connections that are open: neither end learns of it."""
        self._lost.set()
        self._lost = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.carriers.add(task)
        is_dead = self._lost
        there, back = await asyncio.open_connection(*self._to)
        try:
            with suppress(ConnectionError):
                await asyncio.gather(_pass(reader, back, is_dead), _pass(there, writer, is_dead))
        finally:
            for end in (back, writer):
                end.close()


async def _pass(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_dead: asyncio.Event
) -> None:
    while data := await reader.read(65_536):
        if not is_dead.is_set():
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def way_to(host: str, port: int) -> AsyncIterator[Way]:
    """Open a way to the server, on a port of its own."""
    way = Way(host, port)
    async with await asyncio.start_server(way.serve, "127.0.0.1", 0) as server:
        bound = server.sockets[0].getsockname()
        way.url = f"http://{bound[0]}:{bound[1]}"
        yield way
        for task in way.carriers:
            task.cancel()
        await asyncio.gather(*way.carriers, return_exceptions=True)
