"""Whose a queue's notices are: this instance's, or somebody else's."""

import asyncio
from collections.abc import Callable
from functools import partial

from watcher.aws.asking import Asking
from watcher.aws.ec2 import Ec2, Member
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
        self._asking = Asking[list[Member]](ec2, asyncio.get_running_loop().time)

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

    def mine(self, notices: Notices) -> list[ForInstance]:
        """Return what of the notices names this instance.

        Raises:
            SourceUnavailable: It is unknown which instance this is.
        """
        instance_id = self.require_known()
        return [
            told
            for told in notices.addressed
            if isinstance(told, ForInstance) and told.instance_id == instance_id
        ]

    async def reserved(self, reservation: ForReservation) -> list[ForInstance]:
        """Return what a notice to a reservation is for this instance, if that is in it.

        Raises:
            AwsCallFailed: It is unknown whether it is.
            SourceUnavailable: It is unknown which instance this is.
        """
        ask = partial(self._ec2.members, reservation.reservation_id, self.require_known())
        return [
            ForInstance(
                notice=member_notice(reservation, member.instance_id, member.instance_type),
                instance_id=member.instance_id,
            )
            for member in await self._asking.ask(ask)
        ]

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
