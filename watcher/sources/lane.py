"""A lane: keys that are asked for one after the other over one connection, each at its own pace.

What must not wait for anything else has a lane of its own.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from watcher.errors import SourceError, SourceThrottled
from watcher.health import SourceHealth
from watcher.httpclient import Answer
from watcher.notice import Moment, Notice
from watcher.sources.pace import Pace

log = logging.getLogger(__name__)

NAP_S = 1.0
"""Longest sleep, in seconds. The loop's timers stand still while the machine is suspended or
hibernated, so the end of that is noticed only after what was left of a sleep."""

SUSPENDED_S = 1.0
"""Seconds by which CLOCK_BOOTTIME has to run ahead of the loop's clock to tell of a suspend."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What an answer comes to: whether it shows a notice at all, and what of it is news."""

    what: Literal["present", "absent"]
    news: list[Notice]


NOTHING = Sight("absent", [])


class Key(Protocol):
    """What is kept of one key between two answers."""

    def answered(self, answer: Answer, now: Moment) -> Sight:
        """Take in an answer: there (200), or not there (404).

        Raises:
            SourceMalformed: It is not the cloud's.
        """
        ...

    def unknown(self) -> None:
        """Take in that a fetch has failed."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """One key as a lane sees it: where it is, when it is due, and what takes in its answers."""

    name: str
    path: str
    pace: Pace
    key: Key
    is_vital: bool = True
    """Whether the source is blind without it; a nicety that fails is only asked for again."""


class Session(Protocol):
    """Who carries a lane's requests, one at a time."""

    async def get(self, path: str) -> Answer:
        """Return the answer for ``path``, which is there (200) or not (404).

        Raises:
            SourceError: There is no such answer.
        """
        ...


class Lane:
    """A source of the notices that its keys show; see :class:`watcher.sources.base.Source`.

    Args:
        name: The name of the source it is a part of.
        session: Carries its requests.
        looks: Its keys in order of rank: of several that are due, the first is asked for.
        health: Where answers of vital keys are noted.
        now: Reads both clocks.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        looks: Sequence[Look],
        health: SourceHealth,
        now: Callable[[], Moment],
    ) -> None:
        self.name = name
        self.health = health
        self._session = session
        self._looks = looks
        self._now = now
        self._clock = asyncio.get_running_loop().time
        self._ahead_s = self._boottime_ahead_s()

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield notices as they appear and as they are withdrawn."""
        while True:
            look = await self._next_due()
            for notice in await self._ask(look):
                yield notice

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: what a key shows is read again anyway."""

    async def _next_due(self) -> Look:
        while True:
            self._hurry_after_suspend()
            now = self._clock()
            for look in self._looks:
                if look.pace.due_at <= now:
                    return look
            next_at = min(look.pace.due_at for look in self._looks)
            await asyncio.sleep(min(next_at - now, NAP_S))

    def _hurry_after_suspend(self) -> None:
        """Make every key due at once if the machine has slept: the world has gone on."""
        before_s, self._ahead_s = self._ahead_s, self._boottime_ahead_s()
        slept_s = self._ahead_s - before_s
        if slept_s > SUSPENDED_S:
            log.warning("resumed source=%s slept_s=%.0f: all is read again", self.name, slept_s)
            for look in self._looks:
                look.pace.hurry()

    def _boottime_ahead_s(self) -> float:
        return self._now().boottime_s - self._clock()

    async def _ask(self, look: Look) -> list[Notice]:
        began = self._clock()
        try:
            answer = await self._session.get(look.path)
            now = self._now()
            sight = look.key.answered(answer, now)
        except SourceError as error:
            self._note_failure(look, error)
            if look.is_vital:
                raise
            log.debug("no answer source=%s key=%s why=%s", self.name, look.name, error)
            return []
        look.pace.fetched(self._clock())
        took_s = self._clock() - began
        if look.is_vital and self.health.answered(look.name, sight.what, now, took_s=took_s):
            log.info("source answers source=%s key=%s answer=%s", self.name, look.name, sight.what)
        return sight.news

    def _note_failure(self, look: Look, error: SourceError) -> None:
        error.key = look.name
        look.key.unknown()
        if isinstance(error, SourceThrottled):
            look.pace.throttled(self._clock())
        else:
            look.pace.failed(self._clock())
