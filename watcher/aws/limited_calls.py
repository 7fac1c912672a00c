"""Calls to AWS that have an end: what has not come back in time is left behind with its thread.

boto3's own limits count from byte to byte, so an answer of which a byte comes every second exceeds
none of them, and a thread can't be ended from outside.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from watcher.errors import AwsCallFailed
from watcher.side_thread import SideThread

T = TypeVar("T")

CALL_LIMIT_S = 10.0
"""Longest that a call may take in all, in seconds, beyond what it asks AWS to wait: boto3's limits
for a connection and an answer, and a little for loading it and for credentials."""

LEFT_LIMIT = 4
"""Most calls of one owner that are left behind at a time: each has a thread and a connection, and a
network that lets several drip will hardly let the next one pass. They end when it drops them."""


class LimitedCalls(Generic[T]):
    """One owner's blocking calls to AWS, one at a time, each in a daemon thread.

    Args:
        what: Names the calls for people, such as ``SQS ReceiveMessage``.
        renew: Is called when one is left behind, so that the next one has a client of its own.
    """

    def __init__(self, what: str, renew: Callable[[], None]) -> None:
        self._what = what
        self._renew = renew
        self._turn = asyncio.Lock()
        self._left: list[SideThread[T]] = []

    async def call(self, work: Callable[[], T], *, wait_s: float = 0.0) -> T:
        """Return or raise what the blocking call does, which asks AWS to wait for ``wait_s``.

        A caller that is cancelled leaves it behind as well.

        Raises:
            AwsCallFailed: It has not come back in time, or too many before it have not at all.
        """
        limit_s = wait_s + CALL_LIMIT_S
        async with self._turn:
            self._left = [thread for thread in self._left if not thread.is_idle]
            if len(self._left) >= LEFT_LIMIT:
                why = f"{len(self._left)} calls before this one have not come back"
                raise AwsCallFailed(f"{self._what}: {why}", outcome="timeout")
            thread = SideThread[T](self._what)
            try:
                async with asyncio.timeout(limit_s):
                    return await thread.call(lambda: work)
            except TimeoutError as error:
                why = f"no whole answer within {limit_s:g} s"
                raise AwsCallFailed(f"{self._what}: {why}", outcome="timeout") from error
            finally:
                if not thread.is_idle:
                    self._left.append(thread)
                    self._renew()
