"""Who gets the relay's notices. Today people and programs do; nobody marks a Node yet."""

import json
import logging
import os
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Protocol

from watcher.errors import ActionRetryable, WatcherError
from watcher.notice import rfc3339
from watcher.side_thread import SideThread
from watcher.sources.aws_messages.reading import ForInstance

log = logging.getLogger(__name__)


class UnknownInstance(WatcherError):  # noqa: N818 - as in watcher.errors
    """Raised when a handler knows no node that is the instance; it may be joining."""


class Handler(Protocol):
    """Makes a notice known where the node of its instance is protected."""

    async def handle(self, told: ForInstance, /) -> None:
        """Store the notice; once this returns, the queue may forget it.

        May be called again with the same notice, also by another relay.

        Raises:
            UnknownInstance: No node is the instance, so far.
            ActionRetryable: It could not be stored; that may pass.
        """
        ...


class LogHandler:
    """Writes each notice to the log: for a look at what a queue brings."""

    async def handle(self, told: ForInstance, /) -> None:
        """Log it."""
        hook = f"{told.hook.group}/{told.hook.name}" if told.hook else "none"
        log.info("notice told %s instance_id=%s hook=%s", told.notice, told.instance_id, hook)


class LinesHandler:
    """Appends each notice as one line of JSON: for programs, and for tests.

    A line is in the file, though perhaps not yet on disk, when its notice counts as handled.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._thread = SideThread[None]("relay-lines")

    async def handle(self, told: ForInstance, /) -> None:
        """Append it; None as the path means standard output.

        Raises:
            ActionRetryable: The file can't be written at the moment.
        """
        line = json.dumps(shown(told)) + "\n"
        append = partial(self._append, line.encode("ascii"))
        await self._thread.call(lambda: append)

    def _append(self, line: bytes) -> None:
        try:
            if self._path is None:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
                return
            # One write to a file that is open for appending: relays share it line by line.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise ActionRetryable(f"{self._path or 'stdout'}: {error.strerror}") from error


def make_handler(word: str) -> Handler:
    """Return the handler that the setting names: ``log``, ``-`` or a file."""
    if word == "log":
        return LogHandler()
    return LinesHandler(None if word == "-" else Path(word).absolute())


def shown(told: ForInstance) -> dict[str, object]:
    """Return what is known of a notice, for one line of JSON."""
    notice = told.notice
    return {
        "schema": 1,
        "id": notice.id,
        "kind": notice.kind,
        "source": notice.source,
        "instance_id": told.instance_id,
        "action": notice.action,
        "received_at": rfc3339(notice.received.wall),
        "deadline": rfc3339(notice.deadline.wall) if notice.deadline else None,
        "hook": asdict(told.hook) if told.hook else None,
        "detail": dict(notice.detail),
    }
