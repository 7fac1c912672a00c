"""Keeps a source running: a failed fetch makes it blind, and never ends it."""

import asyncio
import logging
from collections.abc import Callable

from watcher.errors import SourceError, SourceFinished
from watcher.notice import Moment, Notice
from watcher.sources.base import Source

log = logging.getLogger(__name__)


async def keep_running(
    source: Source, inbox: asyncio.Queue[Notice], now: Callable[[], Moment]
) -> None:
    """Put every notice of the source into the inbox, for as long as the daemon runs.

    A source paces itself, also after an error, so there is no wait here. Anything but a
    SourceError is a bug and ends the daemon: restarted, it reads its levels again.

    Raises:
        SourceFinished: The source has come to an end.
    """
    while True:
        try:
            async for notice in source.notices():
                inbox.put_nowait(notice)
                log.info("notice heard withdrawn=%s %s", notice.withdrawn, notice)
        except SourceError as error:
            if source.health.failed(error, now()):
                log.warning(
                    "source blind source=%s key=%s outcome=%s why=%s",
                    source.name,
                    error.key,
                    error.outcome,
                    error,
                )
        else:
            raise SourceFinished(f"source {source.name} has come to an end")
