"""Whose a queue's notices are: this instance's, or somebody else's."""

from collections.abc import Callable
from functools import partial

from watcher.aws.ec2 import Ec2, Member
from watcher.aws.limited_calls import LimitedCalls
from watcher.errors import SourceUnavailable
from watcher.sources.aws_messages.capacity_block import member_notice
from watcher.sources.reading import ForInstance, ForReservation, Notices


class Recipient:
    """The instance that the daemon runs on.

    Args:
        instance_id: Says which one that is; None while that is not known yet.
        ec2: Is asked whether the instance is in a capacity reservation, which no message says.
    """

    def __init__(self, instance_id: Callable[[], str | None], ec2: Ec2) -> None:
        self._instance_id = instance_id
        self._ec2 = ec2
        self._asking = LimitedCalls[list[Member]]("EC2 DescribeInstances", ec2.renew)

    def require_known(self) -> str:
        """Return the instance's id.

        Raises:
            SourceUnavailable: It is not known yet, so nobody's messages should be taken.
        """
        found = self._instance_id()
        if found is None:
            raise SourceUnavailable(
                "this instance's id is not known yet: the metadata service has not told it; "
                "aws.instance_id can say it instead",
                outcome="no_identity",
            )
        return found

    async def mine(self, notices: Notices) -> list[ForInstance]:
        """Return what of the notices is for this instance.

        Raises:
            AwsCallFailed: It is unknown whether the instance is in a reservation that ends.
            SourceUnavailable: It is unknown which instance this is.
        """
        instance_id = self.require_known()
        found: list[ForInstance] = []
        for told in notices.addressed:
            if isinstance(told, ForReservation):
                found += await self._in_reservation(told, instance_id)
            elif told.instance_id == instance_id:
                found.append(told)
        return found

    def is_only_one(self, notices: Notices) -> bool:
        """Tell whether the notices are for this instance alone, so that nobody else needs them.

        Raises:
            SourceUnavailable: It is unknown which instance this is.
        """
        instance_id = self.require_known()
        # Nobody has asked who else is in a reservation; it is seldom for one instance.
        return all(
            isinstance(told, ForInstance) and told.instance_id == instance_id
            for told in notices.addressed
        )

    async def _in_reservation(self, told: ForReservation, instance_id: str) -> list[ForInstance]:
        ask = partial(self._ec2.members, told.reservation_id, instance_id)
        members = await self._asking.call(ask)
        return [
            ForInstance(
                notice=member_notice(told, member.instance_id, member.instance_type),
                instance_id=member.instance_id,
            )
            for member in members
        ]
