"""Whose a message is, as far as one cluster is concerned."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from watcher.aws.asking import Asking
from watcher.aws.ec2 import IDS_A_CALL, Ec2, Member
from watcher.notice import Moment
from watcher.sources.aws_messages.capacity_block import member_notice
from watcher.sources.reading import ForInstance, ForReservation, Notices
from watcher.sources.remembered import Remembered

FOREIGN_S = 30.0
"""How long an instance without our tag is taken for somebody else's, in seconds: it may be so new
that the tag is still to come, and its message is seen again within the queue's five minutes."""


@dataclass(frozen=True, slots=True)
class Ours:
    """What of a message is for our instances."""

    told: tuple[ForInstance, ...]
    is_all: bool
    """Whether nothing of it is for somebody else."""


class Belonging(Protocol):
    """Tells what of a message is ours."""

    async def ours(self, notices: Notices) -> Ours:
        """Return what is for us.

        Raises:
            CloudCallFailed: It is unknown, so it is neither ours nor not.
        """
        ...


class Addressees:
    """The instances that AWS's messages are for, and which of them are ours.

    Args:
        ec2: Is asked who is in a reservation, and who carries the tag.
        tag: ``KEY`` or ``KEY=VALUE`` of this cluster's instances; None when the queue is ours
            alone, and everything in it with it.
        now: Reads both clocks.
    """

    def __init__(self, ec2: Ec2, tag: str | None, now: Callable[[], Moment]) -> None:
        self._ec2 = ec2
        self._tag = tag

        def clock() -> float:
            return now().boottime_s

        self._members = Asking[list[Member]](ec2, clock)
        self._tagged = Asking[set[str]](ec2, clock)
        self._turn = asyncio.Lock()
        self._unlearnt: set[str] = set()
        self._ours = Remembered(now)
        self._foreign = Remembered(now, kept_s=FOREIGN_S)

    async def ours(self, notices: Notices) -> Ours:
        """Return what is for us, a reservation's notice as one for each instance in it.

        Waits for EC2 only if that is asked: who is in a reservation, or who carries our tag where
        that is not known yet.

        Raises:
            AwsCallFailed: It is unknown, so it is neither ours nor not.
        """
        told: list[ForInstance] = []
        for one in notices.addressed:
            told += await self._expanded(one) if isinstance(one, ForReservation) else [one]
        if self._tag is None:
            return Ours(tuple(told), is_all=True)
        await self._learn(self._tag, {one.instance_id for one in told})
        ours = tuple(one for one in told if one.instance_id in self._ours)
        return Ours(ours, is_all=len(ours) == len(told))

    async def _expanded(self, told: ForReservation) -> list[ForInstance]:
        members = await self._members.ask(partial(self._ec2.members, told.reservation_id))
        return [
            ForInstance(
                notice=member_notice(told, member.instance_id, member.instance_type),
                instance_id=member.instance_id,
            )
            for member in members
        ]

    async def _learn(self, tag: str, instance_ids: set[str]) -> None:
        """Find out which of the instances are ours, asking only about those not known yet.

        Messages that wait for their turn are asked about together, so that a burst of a thousand
        is a handful of questions.
        """
        if not self._unknown(instance_ids):
            return
        self._unlearnt |= instance_ids
        try:
            async with self._turn:
                while mine := self._unknown(instance_ids):
                    others = self._unknown(self._unlearnt - instance_ids)
                    await self._look([*mine, *others][:IDS_A_CALL], tag)
        finally:
            self._unlearnt -= instance_ids

    async def _look(self, instance_ids: list[str], tag: str) -> None:
        key, _, value = tag.partition("=")
        ours = await self._tagged.ask(partial(self._ec2.tagged, instance_ids, key, value or None))
        for instance_id in instance_ids:
            (self._ours if instance_id in ours else self._foreign).add(instance_id)

    def _unknown(self, instance_ids: set[str]) -> list[str]:
        known = (self._ours, self._foreign)
        return sorted(one for one in instance_ids if not any(one in some for some in known))
