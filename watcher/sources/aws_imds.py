"""Notices from the EC2 instance metadata service: Spot interruptions and rebalance advice.

The pure parsers come first, the client after. A key that is there is a notice, 404 is the only
"no notice", and everything else leaves what is known as it was and makes the source blind.

Source: EC2 user guide, "Spot Instance interruption notices", "EC2 instance rebalance
recommendations", "Instance metadata categories" (read 2026-11-30).
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable

from watcher.errors import SourceError, SourceThrottled
from watcher.health import SourceHealth
from watcher.httpclient import Answer, HttpClient
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.aws_session import ImdsSession
from watcher.sources.aws_times import rfc3339_instant
from watcher.sources.aws_windows import HIBERNATE_WINDOW_S, SPOT_ACTIONS, SPOT_WINDOW_S
from watcher.sources.aws_words import IMDS, detail, notice_id, object_with, shown, word
from watcher.sources.level import Level
from watcher.sources.pace import Pace

log = logging.getLogger(__name__)

NAME = IMDS
SPOT = "spot/instance-action"
REBALANCE = "events/recommendations/rebalance"
KEYS = (SPOT, REBALANCE)

_PREFIX = "/latest/meta-data/"
_INSTANCE_ID = "instance-id"


def parse_instance_action(body: bytes, received: Moment, instance_id: str | None) -> Notice:
    """Return the preemption that the body of ``spot/instance-action`` announces.

    A body of AWS's with an odd action or time is a notice all the same, under the promised
    window; ``detail["malformed"]`` then says what was odd.

    Raises:
        SourceMalformed: The body is not AWS's: no JSON object, or one without action and time.
    """
    data = object_with(("action", "time"), body, SPOT)
    action, time = word(data.get("action")), word(data.get("time"))
    stated = rfc3339_instant(data.get("time"))
    odd = [] if action in SPOT_ACTIONS else [shown("action", data)]
    odd += [] if stated else [shown("time", data)]
    deadline = Deadline.after(received, SPOT_WINDOW_S)
    if stated:
        deadline = Deadline.stated(stated, seen=received, longest_s=SPOT_WINDOW_S)
    if action == "hibernate":
        deadline = Deadline.after(received, HIBERNATE_WINDOW_S)
    return Notice(
        id=notice_id("aws-spot", action, time, instance_id),
        kind=NoticeKind.PREEMPTION,
        source=NAME,
        received=received,
        deadline=deadline,
        action=action,
        instance_id=instance_id,
        detail=detail({"time": time}, odd),
    )


def parse_rebalance(body: bytes, received: Moment, instance_id: str | None) -> Notice:
    """Return the advice that the body of ``events/recommendations/rebalance`` gives.

    Its ``noticeTime`` is when the signal was emitted; there is no deadline.

    Raises:
        SourceMalformed: The body is not AWS's: no JSON object, or one without noticeTime.
    """
    data = object_with(("noticeTime",), body, REBALANCE)
    time = word(data.get("noticeTime"))
    odd = [] if rfc3339_instant(data.get("noticeTime")) else [shown("noticeTime", data)]
    return Notice(
        id=notice_id("aws-rebalance", time, instance_id),
        kind=NoticeKind.REBALANCE,
        source=NAME,
        received=received,
        instance_id=instance_id,
        detail=detail({"noticeTime": time}, odd),
    )


class AwsImds:
    """The notices of the instance that the daemon runs on.

    Args:
        client: A client for the IMDS endpoint's base URL.
        health: Where usable answers are noted.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
    """

    name = NAME
    keys = KEYS

    def __init__(
        self,
        client: HttpClient,
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: tuple[Notice, ...] = (),
    ) -> None:
        self.health = health
        self._now = now
        self._clock = asyncio.get_running_loop().time
        self._session = ImdsSession(client, self._clock)
        self._instance_id: str | None = None
        by_kind = {notice.kind: notice for notice in adopted}
        self._levels = {
            SPOT: Level(by_kind.get(NoticeKind.PREEMPTION)),
            REBALANCE: Level(by_kind.get(NoticeKind.REBALANCE)),
        }
        # In order of rank: what is due first in this table is fetched first.
        self._paces = {SPOT: Pace(1.0), REBALANCE: Pace(5.0), _INSTANCE_ID: Pace(5.0)}

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield notices as they appear and as they are withdrawn; see :class:`base.Source`."""
        while True:
            key = await self._next_due()
            if key == _INSTANCE_ID:
                await self._housekeeping()
                continue
            for notice in await self._look(key):
                yield notice

    async def _next_due(self) -> str:
        while True:
            for key, pace in self._paces.items():
                if pace.due_at <= self._clock():
                    return key
            await asyncio.sleep(min(pace.due_at for pace in self._paces.values()) - self._clock())

    async def _look(self, key: str) -> list[Notice]:
        began = self._clock()
        try:
            answer = await self._session.get(_PREFIX + key)
            now = self._now()
            news = self._news(key, answer, now)
        except SourceError as error:
            error.key = key
            self._levels[key].unknown()
            if isinstance(error, SourceThrottled):
                self._paces[key].throttled(self._clock())
            else:
                self._paces[key].fetched(self._clock())
            raise
        self._paces[key].fetched(self._clock())
        what = "present" if answer.status == 200 else "absent"
        if self.health.answered(key, what, now, took_s=self._clock() - began):
            log.info("source answers source=%s key=%s answer=%s", self.name, key, what)
        return news

    def _news(self, key: str, answer: Answer, now: Moment) -> list[Notice]:
        level = self._levels[key]
        if answer.status == 404:
            return level.absent(now)
        parse = parse_instance_action if key == SPOT else parse_rebalance
        return level.present(parse(answer.body, now, self._instance_id))

    async def _housekeeping(self) -> None:
        """Renew the token ahead of time, and learn the instance's id: never before a poll."""
        if self._session.has_token:
            await self._session.renew()
            if self._instance_id is None:
                await self._identify()
        self._paces[_INSTANCE_ID].fetched(self._clock())

    async def _identify(self) -> None:
        try:
            answer = await self._session.get(_PREFIX + _INSTANCE_ID)
        except SourceError as error:
            log.debug("instance id unknown source=%s why=%s", self.name, error)
            return
        text = answer.body.decode("latin-1").strip()
        if answer.status == 200 and re.fullmatch(r"[A-Za-z0-9-]{1,64}", text):
            self._instance_id = text
