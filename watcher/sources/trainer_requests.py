"""Requests of the trainers on this node for another one: a slow rank, or corrupted parameters.

Off until the users who may ask are named. One request is heard in a boot and a day: a job that is
wrong about its nodes must not take a fleet apart.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from watcher.errors import SourceUnavailable
from watcher.health import SourceHealth
from watcher.notice import Moment, Notice, NoticeKind
from watcher.requests import DIRECTORY, NodeRequest, NodeRequests, Terms, read_requests
from watcher.side_thread import SideThread
from watcher.sources.outlived import Outlived
from watcher.sources.road import Kinds, Opened, Road, Site

log = logging.getLogger(__name__)

NAME = "trainer_requests"
KEY = "directory"

LOOK_EVERY_S = 2.0
"""Seconds between two looks at the directory."""

LOOK_LIMIT_S = 5.0
"""Longest that a look is waited for."""

DAY_S = 86_400.0

OVER_AFTER_S = 3600.0
"""Seconds after which a node that nobody has replaced takes part again."""

_MOST_USERS = 64
_LAST_UID = 2**32 - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerRequestsConfig:
    """Who may ask for another node."""

    uids: tuple[int, ...] = ()
    """Users whose files in ``requests/`` are heard, by number: a list, or a text with commas.
    Without one nobody is."""


def user_numbers(value: object) -> tuple[int, ...]:
    """Return users by number, from a list or from a text with commas."""
    expected = f"user numbers such as 1000,1001, at most {_MOST_USERS}"
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or len(words) > _MOST_USERS:
        raise ValueError(expected)
    numbers = []
    for word in words:
        text = word.strip() if isinstance(word, str) else str(word)
        if isinstance(word, bool) or not text.isdecimal() or int(text) > _LAST_UID:
            raise ValueError(expected)
        numbers.append(int(text))
    return tuple(numbers)


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType({"uids": user_numbers})


class TrainerRequests:
    """Requests for another node; see :class:`watcher.sources.base.Source`.

    Args:
        read: Returns what is asked for at an instant on CLOCK_BOOTTIME; blocks.
        health: Where usable answers are noted.
        now: Reads both clocks.
        adopted: The notice that an earlier run of the daemon has left in force.
    """

    name = NAME

    def __init__(
        self,
        read: Callable[[float], NodeRequests],
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: Iterable[Notice] = (),
    ) -> None:
        self.health = health
        self._read = read
        self._now = now
        standing = tuple(adopted)
        self._outlived = Outlived(standing, {NoticeKind.NODE_REQUEST: OVER_AFTER_S})
        self._heard_s = max((notice.received.boottime_s for notice in standing), default=None)
        self._thread = SideThread[NodeRequests](NAME)
        self._refused: frozenset[tuple[str, str]] = frozenset()

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield a notice when a request is heard, and when the node has outlived it."""
        while True:
            began = self._now()
            requests = await self._look(began.boottime_s)
            now = self._now()
            what = "present" if requests.found else "absent"
            took_s = now.boottime_s - began.boottime_s
            if self.health.answered(KEY, what, now, took_s=took_s):
                log.info("source answers source=%s key=%s answer=%s", NAME, KEY, what)
            for notice in (*self._outlived.since(now), *self._news(requests, now)):
                yield notice
            await asyncio.sleep(LOOK_EVERY_S)

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing: the trainer that has asked is about to stop."""

    async def _look(self, now_s: float) -> NodeRequests:
        try:
            async with asyncio.timeout(LOOK_LIMIT_S):
                return await self._thread.call(lambda: partial(self._read, now_s))
        except (OSError, TimeoutError) as error:
            failure = SourceUnavailable(
                f"{DIRECTORY}/ can't be read: {error!r}", outcome="unreadable"
            )
            failure.key = KEY
            raise failure from error

    def _news(self, requests: NodeRequests, now: Moment) -> list[Notice]:
        refused = dict(requests.refused)
        news: list[Notice] = []
        for request in requests.found:
            notice = _notice(request, now)
            if notice.id in self._outlived:
                continue
            if self._heard_s is not None and now.boottime_s - self._heard_s < DAY_S:
                refused[request.id] = "one request was heard already within this boot and day"
                continue
            self._heard_s = now.boottime_s
            self._outlived.add(notice)
            news.append(notice)
        told = frozenset(refused.items())
        for name, why in sorted(told - self._refused):
            log.warning("request refused source=%s file=%s why=%s", NAME, name, why)
        self._refused = told
        return news


def _notice(request: NodeRequest, now: Moment) -> Notice:
    return Notice(
        id=f"node-request-{request.id}",
        kind=NoticeKind.NODE_REQUEST,
        source=NAME,
        received=now,
        detail={"reason": request.reason, "text": request.text, "uid": str(request.uid)},
    )


def wanted(config: TrainerRequestsConfig) -> Kinds:
    """Return this source if anybody may ask."""
    return {NAME: frozenset({NoticeKind.NODE_REQUEST})} if config.uids else {}


@asynccontextmanager
async def opened(config: TrainerRequestsConfig, site: Site) -> AsyncIterator[Opened]:
    """Read the requests until the end of the block."""
    uids = frozenset(config.uids)

    def read(now_s: float) -> NodeRequests:
        return read_requests(site.run_dir, Terms(boot_id=site.boot_id, uids=uids, now_s=now_s))

    health = site.health(NAME, (KEY,), is_required=False)
    yield Opened(sources=(TrainerRequests(read, health, site.now, site.left_by(NAME)),))


ROAD = Road(
    section=NAME,
    cloud=None,
    settings=TrainerRequestsConfig,
    readers=READERS,
    wanted=wanted,
    opened=opened,
    edges=(NAME,),
)
