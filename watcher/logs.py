"""Log lines that never hold up the loop: a stuck journal loses lines, not notices."""

import asyncio
import json
import logging
import os
import queue
import threading
from datetime import UTC, datetime
from types import TracebackType

from watcher.errors import escaped
from watcher.notice import Notice, rfc3339

_WAITING_LIMIT = 10_000
"""How many lines may wait for a slow reader of stderr; more are dropped and counted."""

_FLUSH_LIMIT_S = 1.0

_STDERR = 2

HEAD_START_S = 0.02
"""Seconds by which the loop is ahead of the lines that it logs. Their writer, once woken, takes
turns with it, and may lose its core in the middle of one: just when a notice that has been logged
is about to be acted on."""

_Failure = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def start_logging(log_format: str, level: str) -> None:
    """Send the daemon's log to stderr, as ``text`` or ``json``, from ``level`` on."""
    handler = _BackgroundHandler()
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in ("boto3", "botocore", "urllib3"):  # at debug they log session tokens and bodies
        logging.getLogger(name).setLevel(logging.WARNING)


class _BackgroundHandler(logging.Handler):
    """Formats where the line is logged and writes in a daemon thread.

    To the descriptor, as Python's streams have a lock: a thread that hangs in a write would hold
    it, and the end of the process wait for it for ever.
    """

    def __init__(self, descriptor: int = _STDERR) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._held: list[str] = []
        """What was logged in the loop, and is not handed over yet."""
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if self._lines.qsize() + len(self._held) >= _WAITING_LIMIT:
            self._dropped += 1
            return
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001 - a log line that can't be made must not stop its caller
            line = f"a log line could not be formatted: {record.msg!r}"
        if self._dropped:
            line += f"\n({self._dropped} log lines dropped before this one)"
            self._dropped = 0
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # another thread, or the end
            self._hand_over()
            self._lines.put(line)
        else:
            if not self._held:
                loop.call_later(HEAD_START_S, self._hand_over)
            self._held.append(line)

    def close(self) -> None:
        """Write what waits, but no longer than a second: stderr may be what hangs."""
        self._hand_over()
        self._lines.put(None)
        self._thread.join(_FLUSH_LIMIT_S)
        super().close()

    def _hand_over(self) -> None:
        self.acquire()
        try:
            held, self._held = self._held, []
            for line in held:
                self._lines.put(line)
        finally:
            self.release()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            left = f"{line}\n".encode(errors="backslashreplace")
            try:
                while left:
                    left = left[os.write(self._descriptor, left) :]
            except OSError:
                continue  # nobody reads; there is nowhere left to say so


class _TextFormatter(logging.Formatter):
    """``2026-11-30T10:05:06.250000Z INFO watcher.responder message key=value``.

    A line holds words of clouds, queues and proxies, so whatever is no printable character is
    escaped: nobody can begin a line of their own, or send a terminal commands.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        del datefmt
        return rfc3339(datetime.fromtimestamp(record.created, UTC))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return escaped(super().formatMessage(record))

    def formatException(self, ei: _Failure) -> str:  # noqa: N802 - logging's name
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  {escaped(line)}" for line in lines)


class _JsonFormatter(logging.Formatter):
    """One object a line; a notice among the arguments adds its keys as fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, str | None] = {
            "time": rfc3339(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for notice in record.args if isinstance(record.args, tuple) else ():
            if isinstance(notice, Notice):
                deadline = rfc3339(notice.deadline.wall) if notice.deadline else None
                fields |= {"notice_id": notice.id, "source": notice.source}
                fields |= {"kind": notice.kind, "deadline": deadline}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)
