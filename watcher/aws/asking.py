"""Questions to EC2 that are not asked again and again while EC2 does not answer.

Each holds up only the message that it is for, which the queue brings again.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from watcher.aws.ec2 import Ec2
from watcher.aws.limited_calls import LimitedCalls
from watcher.errors import AwsCallFailed

QUIET_S = 5.0
"""Seconds after a failure in which questions fail at once with it: a burst of messages finds out
once that EC2 hangs, and comes again when its visibility of ten seconds or more has run out."""

T = TypeVar("T")


class Asking(Generic[T]):
    """One owner's questions of one kind, one at a time.

    Args:
        ec2: Whom they are for.
        clock: Tells the time in seconds; monotonic.
    """

    def __init__(self, ec2: Ec2, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls = LimitedCalls[T]("EC2 DescribeInstances", ec2.renew)
        self._turn = asyncio.Lock()
        self._failure: AwsCallFailed | None = None
        self._failed_at = 0.0

    async def ask(self, question: Callable[[], T]) -> T:
        """Return what the blocking question comes to.

        Raises:
            AwsCallFailed: It has failed, or not ended in time, or one before it has just now.
        """
        async with self._turn:
            last = self._failure
            if last is not None and self._clock() - self._failed_at < QUIET_S:
                why = f"not asked so soon after: {last}"
                raise AwsCallFailed(why, outcome=last.outcome, code=last.code)
            try:
                return await self._calls.call(question)
            except AwsCallFailed as error:
                self._failure, self._failed_at = error, self._clock()
                raise
