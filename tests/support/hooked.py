"""A server on loopback that takes what is posted to it, and answers, or does not, as told."""

import asyncio
import json
import socket
import ssl
import struct
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

HANG, RESET, DRIP = b"hang", b"reset", b"drip"
"""Instead of an answer: none, a broken connection, or one byte of it after the other."""


def answer(status: int, *headers: str, body: str = "ok") -> bytes:
    """Return an answer with a status."""
    lines = (f"HTTP/1.1 {status} Some Reason", f"Content-Length: {len(body)}", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


OK = answer(200)


@dataclass(frozen=True)
class Posted:
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was posted
        """Return what the body says."""
        return json.loads(self.body)


class Hooked:
    """Records requests.

    Attributes:
        url: Where it is, with a path.
        posted: What has come, in order.
        answers: What is answered next; OK when there is none left.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.url = ""
        self.posted: list[Posted] = []
        self.answers: deque[bytes] = deque()
        self._released = asyncio.Event()
        self._serving: set[asyncio.Task[None]] = set()

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection in a task of its own."""
        self._serving.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request, and answer it."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            line, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = dict(one.split(": ", 1) for one in rest)
            body = await reader.readexactly(int(headers.get("Content-Length", "0")))
            self.posted.append(Posted(line, headers, body))
            await self._answer(self.answers.popleft() if self.answers else OK, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def release(self) -> None:
        """Let go of every connection."""
        self._released.set()
        await asyncio.gather(*self._serving)

    async def _answer(self, said: bytes, writer: asyncio.StreamWriter) -> None:
        if said == HANG:
            await self._released.wait()
        elif said == RESET:
            reset = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            writer.transport.abort()
        elif said == DRIP:
            for byte in OK * 1000:
                writer.write(bytes([byte]))
                await writer.drain()
                if self._released.is_set():
                    return
                await asyncio.sleep(0.01)
        else:
            writer.write(said)
            await writer.drain()


@asynccontextmanager
async def hooked(path: str = "/hook", tls: ssl.SSLContext | None = None) -> AsyncIterator[Hooked]:
    """Run one in the block."""
    hook = Hooked(path)
    server = await asyncio.start_server(hook.take, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    hook.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}{path}"
    async with server:
        try:
            yield hook
        finally:
            await hook.release()
