"""Notices from the EC2 instance metadata service: the keys that are read, how often, and on what.

Spot interruptions have a connection of their own, so that no answer to another question can delay
them; everything else shares a second one. A key that is there is a notice, 404 is the only "no
notice", and everything else leaves what is known as it was and makes the source blind.

Source: EC2 user guide, "Instance metadata categories" (read 2026-11-30).
"""

import asyncio
from collections.abc import Callable, Iterable
from math import inf

from watcher.health import SourceHealth
from watcher.httpclient import Answer, HttpClient
from watcher.notice import Moment, Notice, NoticeKind
from watcher.sources.aws_imds_events import ASG_STATE, SCHEDULED
from watcher.sources.aws_imds_spot import REBALANCE, SPOT, TERMINATION_TIME
from watcher.sources.aws_instance import IDENTITY, INSTANCE_ID, LIFE_CYCLE, AwsInstance
from watcher.sources.aws_keys import (
    Fact,
    InstanceAction,
    Rebalance,
    ScheduledEvents,
    TargetLifecycleState,
    TerminationTime,
)
from watcher.sources.aws_session import ImdsSession, TokenBox
from watcher.sources.aws_words import IMDS
from watcher.sources.lane import Key, Lane, Look
from watcher.sources.pace import Pace

NAME = IMDS
KEYS = (SPOT, REBALANCE, ASG_STATE, SCHEDULED)
"""Without one of these the source is blind."""

_META_DATA = "/latest/meta-data/"
_DYNAMIC = "/latest/dynamic/"

_SCHEDULED_KINDS = (NoticeKind.MAINTENANCE, NoticeKind.HARDWARE)


class AwsImds:
    """The notices of the instance that the daemon runs on, as two sources in one.

    Args:
        clients: Two clients for the IMDS endpoint's base URL: for Spot, and for all else.
        health: Where usable answers are noted, and what was learnt of the instance.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
        may_use_v1: Whether IMDSv1 will do where there is no IMDSv2.
    """

    name = NAME
    keys = KEYS
    kinds = frozenset(
        {NoticeKind.PREEMPTION, NoticeKind.TERMINATION, NoticeKind.REBALANCE, *_SCHEDULED_KINDS}
    )
    """What it can say, and so take back."""

    def __init__(
        self,
        clients: tuple[HttpClient, HttpClient],
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: Iterable[Notice] = (),
        *,
        may_use_v1: bool = True,
    ) -> None:
        self.instance = AwsInstance(health.facts)
        clock = asyncio.get_running_loop().time
        tokens = TokenBox()
        spot, rest = (
            ImdsSession(client, clock, tokens, may_use_v1=may_use_v1) for client in clients
        )
        first, others = self._looks(tuple(adopted))
        self.lanes = (
            Lane(NAME, spot, [first], health, now),
            # Renewed here, ahead of its end, the token never costs a Spot poll anything.
            Lane(NAME, Renewing(rest), others, health, now),
        )
        """Each is run by itself, side by side."""

    def _looks(self, adopted: tuple[Notice, ...]) -> tuple[Look, list[Look]]:
        """Return the key that has a lane of its own, and the others in order of rank."""
        instance = self.instance
        by_kind = {notice.kind: notice for notice in adopted}
        events = [notice for notice in adopted if notice.kind in _SCHEDULED_KINDS]
        action = InstanceAction(instance, by_kind.get(NoticeKind.PREEMPTION))
        state = TargetLifecycleState(instance, by_kind.get(NoticeKind.TERMINATION))
        rebalance = Rebalance(instance, by_kind.get(NoticeKind.REBALANCE))
        return _look(SPOT, 1.0, action), [
            _look(ASG_STATE, 5.0, state),
            _look(REBALANCE, 5.0, rebalance),
            _look(SCHEDULED, 30.0, ScheduledEvents(instance, events)),
            _nicety(_META_DATA + TERMINATION_TIME, 5.0, TerminationTime(instance, action)),
            _nicety(_META_DATA + INSTANCE_ID, inf, Fact(instance.learn_id)),
            _nicety(_DYNAMIC + IDENTITY, inf, Fact(instance.learn_identity)),
            _nicety(_META_DATA + LIFE_CYCLE, inf, Fact(instance.learn_life_cycle)),
        ]


class Renewing:
    """A session that renews its token before an answer of its own can be refused."""

    def __init__(self, session: ImdsSession) -> None:
        self._session = session

    async def get(self, path: str) -> Answer:
        """Renew the token if its end is near, then get ``path`` as the session does."""
        await self._session.renew()
        return await self._session.get(path)


def _look(name: str, every_s: float, key: Key) -> Look:
    return Look(name, _META_DATA + name, Pace(every_s), key)


def _nicety(path: str, every_s: float, key: Key) -> Look:
    return Look(path, path, Pace(every_s), key, is_vital=False)
