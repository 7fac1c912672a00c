"""Who gets the relay's notices: people and programs here, and Nodes in :mod:`nodes`."""

import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from watcher.errors import ActionRetryable, WatcherError
from watcher.health import SourceHealth
from watcher.notice import rfc3339
from watcher.relay.lines import Lines
from watcher.side_thread import SideThread
from watcher.sources.reading import ForInstance

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


@dataclass(frozen=True, slots=True)
class Handling:
    """A handler that is open, and what has to run and may be blind meanwhile.

    Attributes:
        handler: Who gets the notices.
        healths: What may be blind.
        keepers: What has to run.
        is_drained: Says of an instance whether its node has nothing left to do; that is known only
            where the notices are written on Nodes.
    """

    handler: Handler
    healths: Sequence[SourceHealth] = ()
    keepers: Sequence[Callable[[], Coroutine[None, None, None]]] = ()
    is_drained: Callable[[str], bool] = lambda _: False


class LogHandler:
    """Writes each notice to the log: for a look at what a queue brings."""

    async def handle(self, told: ForInstance, /) -> None:
        """Log it."""
        hook = f"{told.hook.group}/{told.hook.name}" if told.hook else "none"
        log.info("notice told %s instance_id=%s hook=%s", told.notice, told.instance_id, hook)


class LinesHandler:
    """Appends each notice as one line of JSON: for programs, and for tests.

    A notice counts as handled when its whole line is there, though perhaps not yet on disk.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._thread = SideThread[None]("relay-lines")

    async def handle(self, told: ForInstance, /) -> None:
        """Append it.

        Raises:
            ActionRetryable: It can't be written at the moment, or not all of it.
            ReaderGone: Nobody reads standard output any more.
        """
        line = json.dumps(shown(told)) + "\n"
        append = partial(self._lines.append, line.encode("ascii"))
        try:
            await self._thread.call(lambda: append)
        except OSError as error:
            raise ActionRetryable(f"{self._lines.name}: {error.strerror}") from error


def make_handler(word: str) -> Handler:
    """Return the handler that the setting names: ``log``, ``-`` or a file; blocks.

    Raises:
        ConfigError: It can't be used.
    """
    if word == "log":
        return LogHandler()
    lines = Lines(None if word == "-" else Path(word).absolute())
    lines.require_usable()
    return LinesHandler(lines)


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
