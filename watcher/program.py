"""Runs another program beside the loop: its lines, its exit status, and its sure end.

The program gets a process group of its own, which is killed as a whole when it is no longer wanted,
and also when only its leader has ended. Starting it may hang on a dead file system, so that is done
in a side thread. What it prints takes a bounded memory.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import IO

from watcher.errors import SourceMalformed
from watcher.side_thread import SideThread

LINE_LIMIT_BYTES = 16 * 1024
"""Longest line that is read; a notice takes a few hundred bytes."""

_CHUNK_BYTES = 4096
_LAST_WORDS_BYTES = 256
_LEAVE_S = 1.0
"""Seconds between SIGTERM and SIGKILL, and for reading what a program has said last."""

_NOT_FOR_OTHERS = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")
"""What the service manager has said to the daemon alone."""

Process = subprocess.Popen[bytes]


class Program:
    """A program that runs: made by :meth:`start`, and ended by :meth:`end`."""

    def __init__(self, process: Process) -> None:
        loop = asyncio.get_running_loop()
        self._process = process
        self._buffer = b""
        self._is_skipping = False
        self._lines = asyncio.StreamReader(limit=_CHUNK_BYTES)
        self._words = _LastWords()
        self._unread = [process.stdout, process.stderr]
        self._transports: list[asyncio.BaseTransport] = []
        self._status: asyncio.Future[int] = loop.create_future()
        self._pidfd = os.pidfd_open(process.pid)
        loop.add_reader(self._pidfd, self._on_end)

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        thread: SideThread[Process],
        given: bytes = b"",
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> "Program":
        """Start it with what it is given to read; a caller that is cancelled leaves nothing behind.

        Args:
            argv: The program and its arguments.
            thread: Where it is started.
            given: Its standard input, which is a file.
            variables: What it finds in its environment besides the daemon's own.

        Raises:
            OSError: It can't be started.
        """
        birth = _Birth(argv, given, variables)
        try:
            program = cls(await thread.call(lambda: birth.happen))
        except BaseException:
            birth.undo()
            raise
        try:
            await program._listen()
        except BaseException:
            await program.end()
            raise
        return program

    async def line(self) -> bytes | None:
        """Return the next line of its standard output, None when there will be no more.

        A caller that is cancelled loses nothing.

        Raises:
            SourceMalformed: The line is longer than LINE_LIMIT_BYTES, and passed over.
        """
        while True:
            head, end, rest = self._buffer.partition(b"\n")
            if end:
                self._buffer = rest
                if not self._is_skipping and len(head) <= LINE_LIMIT_BYTES:
                    return head
                self._is_skipping = False
                raise SourceMalformed(f"a line of more than {LINE_LIMIT_BYTES} bytes")
            if len(self._buffer) > LINE_LIMIT_BYTES:
                self._buffer, self._is_skipping = b"", True
            chunk = await self._lines.read(_CHUNK_BYTES)
            if not chunk:
                self._buffer = b""
                return None if self._is_skipping else head or None
            self._buffer += chunk

    async def output(self, limit_bytes: int) -> bytes:
        """Read all that it writes to the end, and return how its standard output begins."""
        head = b""
        while chunk := await self._lines.read(_CHUNK_BYTES):
            head += chunk[: limit_bytes - len(head)]
        await self._words.ended.wait()
        return head

    async def ended(self) -> int:
        """Wait for its end, and return its exit status, or -N if signal N has killed it."""
        return await asyncio.shield(self._status)

    @property
    def status(self) -> int | None:
        """Its exit status as :meth:`ended` has it, None while it runs."""
        return self._status.result() if self._status.done() else None

    def last_words(self) -> str:
        """Return the end of what it has written to standard error, on one line."""
        return " ".join(self._words.data.decode(errors="replace").split())

    async def end(self) -> None:
        """End its whole group, by SIGTERM and soon by SIGKILL; one that can't be killed is left."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.status is None:
                _signal_group(self._process, number)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LEAVE_S):
                        await self.ended()
        self._close()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        lines = asyncio.StreamReaderProtocol(self._lines)
        out, _ = await loop.connect_read_pipe(lambda: lines, self._unread[0])
        self._transports.append(out)
        self._unread.pop(0)
        err, _ = await loop.connect_read_pipe(lambda: self._words, self._unread[0])
        self._transports.append(err)
        self._unread.pop(0)

    def _on_end(self) -> None:
        """Kill what the leader has left behind, while its pid can't be anybody else's yet."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        _signal_group(self._process, signal.SIGKILL)
        status = self._process.poll()
        self._status.set_result(-signal.SIGKILL if status is None else status)
        # Not at once: its last lines may still be in the pipe. Nor never: a process that has left
        # the group may hold the pipe for as long as it likes.
        loop.call_later(_LEAVE_S, self._close)

    def _close(self) -> None:
        for transport in self._transports:
            transport.close()
        for pipe in self._unread:
            if pipe is not None:
                pipe.close()


class _LastWords(asyncio.Protocol):
    """Takes in standard error, so that writing to it never blocks, and keeps its end."""

    def __init__(self) -> None:
        self.data = b""
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.data = (self.data + data)[-_LAST_WORDS_BYTES:]

    def connection_lost(self, _error: Exception | None) -> None:
        self.ended.set()


class _Birth:
    """The start of a process in another thread, which may come when nobody wants it any more."""

    def __init__(self, argv: Sequence[str], given: bytes, variables: Mapping[str, str]) -> None:
        self._argv = argv
        self._given = given
        self._variables = variables
        self._lock = threading.Lock()
        self._is_unwanted = False
        self._process: Process | None = None

    def happen(self) -> Process:
        """Start the process; blocks until it has begun, or has failed to."""
        with self._lock:
            if self._is_unwanted:
                raise OSError("not wanted any more")
        kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_OTHERS}
        with _readable(self._given) as given:
            process = subprocess.Popen(  # noqa: S603 - the person who wrote the settings chose it
                self._argv,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env={**kept, **self._variables},
            )
        with self._lock:
            self._process = process
            if self._is_unwanted:
                _kill(process)
        return process

    def undo(self) -> None:
        """Kill the process if there is one, or as soon as there is; does not wait for its end."""
        with self._lock:
            self._is_unwanted = True
            if self._process is not None:
                threading.Thread(target=_kill, args=(self._process,), daemon=True).start()


def _readable(data: bytes) -> IO[bytes]:
    """Return an unnamed file in memory with these bytes; nobody has to feed it as a pipe."""
    file = os.fdopen(os.memfd_create("given"), "w+b", buffering=0)
    file.write(data)
    file.seek(0)
    return file


def _kill(process: Process) -> None:
    """Kill a process that nobody reads from, and wait for its end; blocks."""
    _signal_group(process, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


def _signal_group(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
