"""The Unix socket at which root asks for a drill: one line of JSON, and one for an answer.

Who asks is known by the kernel's word (SO_PEERCRED), whatever the permissions on the socket are.
"""

import asyncio
import json
import logging
import os
import socket
import stat
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)

LINE_LIMIT_BYTES = 1024
ASK_LIMIT_S = 2.0
"""Longest that a question may take to come, in seconds."""

CLIENT_LIMIT = 4
"""Most that are served at a time; who comes then is turned away at once."""

ROOT = 0
_CREDENTIALS = struct.Struct("3i")

Answer = Mapping[str, object]


class DrillSocket:
    """Answers whoever may ask.

    Args:
        answer: Returns what is said to a question; a ValueError is the reason to refuse it.
    """

    def __init__(self, answer: Callable[[Mapping[str, object]], Awaitable[Answer]]) -> None:
        self._answer = answer
        self._clients = 0

    @asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[bool]:
        """Listen until the end of the block; yields whether that is so.

        Where the socket can't be made the log says why: a node without drills is protected.
        """
        try:
            listener = await asyncio.to_thread(_made, path)
        except OSError as error:
            log.warning("no drill can be asked for socket=%s why=%s", path, error.strerror or error)
            yield False
            return
        server = await asyncio.start_unix_server(self._serve, sock=listener, limit=LINE_LIMIT_BYTES)
        try:
            yield True
        finally:
            server.close()
            with suppress(OSError):
                await asyncio.to_thread(os.unlink, path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._clients += 1
            said = await self._said_to(reader, _uid_of(writer))
            writer.write(json.dumps(dict(said)).encode() + b"\n")
            async with asyncio.timeout(ASK_LIMIT_S):
                await writer.drain()
        except (OSError, TimeoutError):
            log.debug("drill socket: a client has gone")
        finally:
            self._clients -= 1
            writer.close()

    async def _said_to(self, reader: asyncio.StreamReader, uid: int) -> Answer:
        try:
            async with asyncio.timeout(ASK_LIMIT_S):
                line = await reader.readline()  # first: an answer to nothing may be lost
            return await self._judged(line, uid)
        except (ValueError, RecursionError) as error:
            return {"refused": str(error)[:200]}
        except TimeoutError:
            return {"refused": f"no question came within {ASK_LIMIT_S:g} s"}

    async def _judged(self, line: bytes, uid: int) -> Answer:
        """Return the answer; raises ValueError or RecursionError, the reason to refuse."""
        if uid != ROOT:
            log.warning("drill refused uid=%d why=only root may ask", uid)
            raise ValueError("only root may ask for a drill")
        if self._clients > CLIENT_LIMIT:
            raise ValueError("too many ask at the same time")
        asked = json.loads(line)
        if not isinstance(asked, dict):
            raise ValueError("a question is a JSON object")  # noqa: TRY004 - as json.loads does
        return await self._answer(asked)


def _made(path: Path) -> socket.socket:
    """Return a socket that listens there; blocks. What an earlier daemon has left is removed."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        made.bind(str(path))
        path.chmod(0o600)  # before anybody can connect: it does not listen yet
        made.listen(CLIENT_LIMIT)
        made.setblocking(False)  # noqa: FBT003 - its only form
    except BaseException:
        made.close()
        raise
    return made


def _uid_of(writer: asyncio.StreamWriter) -> int:
    """Return who is at the other end; by the kernel, at the time of the connect."""
    end: socket.socket = writer.get_extra_info("socket")
    said = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(said)[1]
    return uid
