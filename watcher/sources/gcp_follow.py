"""One key followed from change to change: a look at it as it is, then GETs that wait for the next.

A look comes first, or what had changed before would be waited for past the end of the VM. Each wait
names the ETag of what was seen last, so a change between two waits ends the next one at once. After
anything that is not an answer there is a look again, on another connection if the old one is dead.

Source: Compute Engine documentation, "Query VM metadata", waiting for updates (read 2026-11-30).
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from watcher.errors import SourceError, SourceThrottled
from watcher.health import SourceHealth
from watcher.httpclient import Answer
from watcher.notice import Moment, Notice
from watcher.sources.lane import Sight
from watcher.sources.pace import Pace

log = logging.getLogger(__name__)

POLL_S = 1.0
"""Seconds between requests where an answer can't be waited for, or comes back for no reason."""

NEWS_REST_S = 0.02
"""Seconds without a request after news: to make one takes the loop as long as the flag does. What
changes meanwhile has another ETag, and ends the next wait at once."""

MISSING_EVERY_S = 30.0
"""Seconds between looks at a key that is not there: machine types have it or do not, and where it
has never said anything it has days to begin."""

FREE_RETURNS = 3
"""Waits in a row that may end early with nothing new before they are slowed down to polls. One is
an ETag that changed with no value; a server that never waits would be asked without a pause."""

_ETAG = re.compile(r"[!-~]{1,256}")


class Key(Protocol):
    """What is kept of one key between two answers."""

    def answered(self, answer: Answer, now: Moment, *, is_fresh: bool) -> Sight:
        """Take in an answer; it is fresh if what it says can't have been there for long.

        Raises:
            SourceError: It is not the cloud's.
        """
        ...

    def unknown(self) -> None:
        """Take in that a fetch has failed."""
        ...


class Session(Protocol):
    """Who carries a follower's requests; see :class:`watcher.sources.gcp_session.GcpSession`."""

    async def get(self, path: str) -> Answer:
        """Return the answer as it is now."""
        ...

    async def changed(self, path: str, etag: str, hold_s: int) -> Answer:
        """Return the answer once its ETag is another than this, or after ``hold_s``."""
        ...


@dataclass(frozen=True, slots=True)
class Followed:
    """One key as its follower sees it: where it is, how long a wait is, what takes in answers."""

    name: str
    path: str
    hold_s: int
    key: Key


class Follower:
    """A source of the notices that one key shows; see :class:`watcher.sources.base.Source`.

    Args:
        name: The name of the source it is a part of.
        session: Carries its requests, and no other key's: a wait holds the connection.
        followed: The key.
        health: Where its answers are noted.
        now: Reads both clocks.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        followed: Followed,
        health: SourceHealth,
        now: Callable[[], Moment],
    ) -> None:
        self.name = name
        self.health = health
        self._session = session
        self._followed = followed
        self._now = now
        self._clock = asyncio.get_running_loop().time
        self._throttled = Pace(POLL_S)
        self._due_at = 0.0
        self._etag: str | None = None
        """Of what was seen last; None where the next request has to be a look."""
        self._is_fresh = False
        self._was_present = False
        self._returns = 0

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield notices as they appear and as they are withdrawn."""
        while True:
            await asyncio.sleep(self._due_at - self._clock())
            for notice in await self._ask():
                yield notice

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: what the key shows is read again anyway."""

    async def _ask(self) -> list[Notice]:
        followed, began = self._followed, self._clock()
        etag, self._etag = self._etag, None
        is_fresh, self._is_fresh = self._is_fresh, False
        try:
            answer = await self._fetched(etag)
            now = self._now()
            sight = followed.key.answered(answer, now, is_fresh=is_fresh)
        except SourceError as error:
            error.key = followed.name
            followed.key.unknown()
            self._wait_after(error, began)
            raise
        self._is_fresh = True
        self._throttled.fetched(self._clock())
        self._plan(answer, sight, began, was_held=etag is not None)
        took_s = None if etag is not None else self._clock() - began
        if self.health.answered(followed.name, sight.what, now, took_s=took_s):
            log.info(
                "source answers source=%s key=%s answer=%s", self.name, followed.name, sight.what
            )
        return sight.news

    async def _fetched(self, etag: str | None) -> Answer:
        if etag is None:
            return await self._session.get(self._followed.path)
        return await self._session.changed(self._followed.path, etag, self._followed.hold_s)

    def _plan(self, answer: Answer, sight: Sight, began: float, *, was_held: bool) -> None:
        """Say what is asked next, and when."""
        now = self._clock()
        is_early = was_held and not sight.news and now - began < self._followed.hold_s / 2
        self._returns = self._returns + 1 if is_early else 0
        is_over = self._was_present and sight.what == "absent"
        self._was_present = sight.what == "present"
        etag = answer.headers.get("ETag", "")
        if answer.status != 200:
            self._due_at = now + MISSING_EVERY_S
        elif not _ETAG.fullmatch(etag) or self._returns > FREE_RETURNS:
            self._due_at = began + POLL_S
        else:
            self._due_at = now + (NEWS_REST_S if sight.news and not is_over else 0.0)
        # Google warns of the next event only who has looked at the key since the last one was over.
        if answer.status == 200 and not is_over and _ETAG.fullmatch(etag):
            self._etag = etag

    def _wait_after(self, error: SourceError, began: float) -> None:
        """Say when to look again: at once where a wait of some length has come to nothing."""
        if isinstance(error, SourceThrottled):
            self._throttled.throttled(self._clock())
            self._due_at = self._throttled.due_at
        else:
            self._due_at = began + POLL_S
