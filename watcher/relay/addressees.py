"""Whose a message is, as far as one cluster is concerned."""

from collections.abc import Callable, Iterable
from functools import partial

from watcher.aws.ec2 import Ec2, Member
from watcher.aws.limited_calls import LimitedCalls
from watcher.notice import Moment
from watcher.sources.aws_messages.capacity_block import member_notice
from watcher.sources.reading import ForInstance, ForReservation, Notices
from watcher.sources.remembered import Remembered

FOREIGN_S = 30.0
"""How long an instance without our tag is taken for somebody else's, in seconds: it may be so new
that the tag is still to come, and its message is seen again within the queue's five minutes."""


class Addressees:
    """The instances that messages are for, and which of them are ours.

    Args:
        ec2: Is asked who is in a reservation, and who carries the tag.
        tag: ``KEY`` or ``KEY=VALUE`` of this cluster's instances; None when the queue is ours
            alone, and everything in it with it.
        now: Reads both clocks.
    """

    def __init__(self, ec2: Ec2, tag: str | None, now: Callable[[], Moment]) -> None:
        self._ec2 = ec2
        self._tag = tag
        self._asking = LimitedCalls[list[Member]]("EC2 DescribeInstances", ec2.renew)
        self._looking = LimitedCalls[set[str]]("EC2 DescribeInstances", ec2.renew)
        self._ours = Remembered(now)
        self._foreign = Remembered(now, kept_s=FOREIGN_S)

    async def expanded(self, notices: Notices) -> list[ForInstance]:
        """Return the notices with each reservation replaced by its instances.

        Raises:
            AwsCallFailed: It is unknown who is in a reservation.
        """
        found: list[ForInstance] = []
        for told in notices.addressed:
            found += await self._members(told) if isinstance(told, ForReservation) else [told]
        return found

    async def learn(self, instance_ids: Iterable[str]) -> None:
        """Find out which of the instances are ours, asking only about those not known yet.

        Raises:
            AwsCallFailed: It is unknown, so they are neither ours nor not.
        """
        if self._tag is None:
            return
        new = sorted({one for one in instance_ids if not self._is_known(one)})
        if not new:
            return
        key, _, value = self._tag.partition("=")
        look = partial(self._ec2.tagged, new, key, value or None)
        ours = await self._looking.call(look)
        for instance_id in new:
            (self._ours if instance_id in ours else self._foreign).add(instance_id)

    def is_ours(self, instance_id: str) -> bool:
        """Tell whether an instance is ours; to be learnt first."""
        return self._tag is None or instance_id in self._ours

    def _is_known(self, instance_id: str) -> bool:
        return instance_id in self._ours or instance_id in self._foreign

    async def _members(self, told: ForReservation) -> list[ForInstance]:
        ask = partial(self._ec2.members, told.reservation_id)
        return [
            ForInstance(
                notice=member_notice(told, member.instance_id, member.instance_type),
                instance_id=member.instance_id,
            )
            for member in await self._asking.call(ask)
        ]
