"""A server on loopback that takes every connection and never answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class HangingServer:
    """Counts who connects.

    Attributes:
        url: Where it is.
        connections: How many have connected.
        first: Is set when the first one has.
    """

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0
        self.first = asyncio.Event()
        self._released = asyncio.Event()

    async def serve(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep a connection until all are released."""
        self.connections += 1
        self.first.set()
        await self._released.wait()
        writer.close()

    def release(self) -> None:
        """Close every connection, without an answer."""
        self._released.set()


@asynccontextmanager
async def hanging_server() -> AsyncIterator[HangingServer]:
    """Run it in the block."""
    hanging = HangingServer()
    server = await asyncio.start_server(hanging.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    hanging.url = f"http://{host}:{port}"
    async with server:
        try:
            yield hanging
        finally:
            hanging.release()
