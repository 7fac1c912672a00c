"""Notices from this node's own SQS queue, beside the metadata service.

A message is an edge: once deleted, nobody says it again. So it is hidden while the actions run, and
deleted when they are done; a daemon that dies before that hears it once more. What is for another
instance too is left as it is, for its owner, whatever is done about it here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from watcher.aws.hook import LifecycleHook
from watcher.custody import Custody, Message
from watcher.errors import AwsCallFailed
from watcher.health import SourceHealth
from watcher.notice import Deadline, Moment, Notice, NoticeKind, rfc3339
from watcher.sources.aws_recipient import Recipient
from watcher.sources.aws_windows import OVER_AFTER_S
from watcher.sources.aws_words import QUEUE
from watcher.sources.intake import Intake
from watcher.sources.outlived import Outlived, booted_since
from watcher.sources.reading import ForInstance, ForReservation, Grounds, Ignored, Notices
from watcher.sources.reception import KEYS, Reception
from watcher.sources.remembered import Remembered

NAME = QUEUE

VISIBILITY_S = 30
"""How long a message stays hidden after a daemon that held it has died, in seconds."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What the source works with."""

    reception: Reception
    custody: Custody
    intake: Intake
    hooks: dict[str, LifecycleHook]
    """Hooks that wait, by the id of the notice that told of them; the source adds to it."""
    hook_wait_s: float | None
    """Seconds that a hook is to be kept waiting; None for the policy's default."""


class AwsSqs:
    """The notices in one node's queue.

    Args:
        hands: Who receives, who keeps and who reads its messages, and the hooks they tell of.
        recipient: Tells which notices are this instance's.
        health: Where usable answers are noted.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
    """

    name = NAME
    keys = KEYS
    kinds = frozenset(
        {
            NoticeKind.PREEMPTION,
            NoticeKind.TERMINATION,
            NoticeKind.CAPACITY_END,
            NoticeKind.MAINTENANCE,
            NoticeKind.HARDWARE,
            NoticeKind.REBALANCE,
        }
    )
    """What a message can tell of."""

    def __init__(
        self,
        hands: Hands,
        recipient: Recipient,
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: tuple[Notice, ...] = (),
    ) -> None:
        self.health = health
        self._hands = hands
        self._recipient = recipient
        self._now = now
        self._done = Remembered(now)
        self._open: dict[str, set[str]] = {notice.id: set() for notice in adopted}
        self._outlived = Outlived(adopted, OVER_AFTER_S)
        self._receiving: asyncio.Task[list[Message]] | None = None
        self._asking: set[asyncio.Task[list[Notice]]] = set()

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield each notice once, and its withdrawal if the node outlives it by far."""
        while True:
            # First: what an earlier run has left may be over by now, and a message may be long off.
            for notice in self._outlived.since(self._now()):
                yield notice
            for notice in await self._heard():
                yield notice

    async def _heard(self) -> list[Notice]:
        """Return what comes first: the next messages', or what waited for EC2.

        What has begun goes on when something else comes first, and when the source is blind.
        """
        if self._receiving is None:
            self._receiving = asyncio.create_task(self._receive())
        receiving = self._receiving
        try:
            await asyncio.wait({receiving, *self._asking}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Nobody will ask for it: the queue shows again what it brings.
            for task in (receiving, *self._asking):
                task.cancel()
            self._receiving, self._asking = None, set()
            raise
        if answered := {task for task in self._asking if task.done()}:
            self._asking -= answered
            return [notice for task in answered for notice in task.result()]
        self._receiving = None
        return [notice for message in receiving.result() for notice in self._read(message)]

    async def _receive(self) -> list[Message]:
        """Return the next messages, but none before it is known which are ours."""
        return await self._hands.reception.receive(
            visibility_s=VISIBILITY_S, only_if=self._recipient.require_known
        )

    def acknowledge(self, notice: Notice) -> None:
        """Have the messages deleted that said this, unless they say more that is not done."""
        self._done.add(notice.id)
        for message_id in self._open.pop(notice.id, ()):
            if not any(message_id in waiting for waiting in self._open.values()):
                self._hands.custody.finish(message_id)

    def _read(self, message: Message) -> list[Notice]:
        """Return what the message says to this instance and was not heard before.

        What only EC2 can tell comes later, so that it delays nothing else.
        """
        hands = self._hands
        reading = hands.intake.read(message)
        if isinstance(reading, Ignored):
            if reading.grounds is not Grounds.UNKNOWN_KIND:
                hands.custody.take(message)
                hands.custody.finish(message.id)
            return []
        if reading is None:
            return []
        if any(isinstance(told, ForReservation) for told in reading.addressed):
            self._asking.add(asyncio.create_task(self._asked(message, reading)))
            return []
        return self._judged(message, reading, self._recipient.mine(reading))

    async def _asked(self, message: Message, reading: Notices) -> list[Notice]:
        """Return as :meth:`_read` does, once EC2 has said whether we are in a reservation."""
        mine = self._recipient.mine(reading)
        try:
            for told in reading.addressed:
                if isinstance(told, ForReservation):
                    mine += await self._recipient.reserved(told)
        except AwsCallFailed as error:
            # It stays where it is and is read again; acting on a guess would stop other jobs.
            self._hands.intake.tell(message, "undecided", str(error), reading)
            return []
        return self._judged(message, reading, mine)

    def _judged(self, message: Message, reading: Notices, mine: list[ForInstance]) -> list[Notice]:
        hands = self._hands
        if not mine:
            hands.intake.tell(message, "foreign", "it is for other instances", reading)
            return []
        if self._recipient.is_only_one(reading):
            hands.custody.take(message)  # what is not taken is neither kept hidden nor deleted
        if since := [began for told in mine if (began := booted_since(told, self._now()))]:
            why = f"it was said before {rfc3339(since[0])}, when this node was booted"
            hands.intake.tell(message, f"ignored_{Grounds.BEFORE_BOOT}", why, reading)
            hands.custody.finish(message.id)
            return []
        return self._news(message, reading, mine)

    def _news(self, message: Message, reading: Notices, mine: list[ForInstance]) -> list[Notice]:
        hands = self._hands
        to_do = [told for told in mine if not self._is_done(told.notice.id)]
        if not to_do:
            hands.intake.tell(message, "duplicate", "all is done about it", reading)
            hands.custody.finish(message.id)
            return []
        news = [told for told in to_do if told.notice.id not in self._open]
        verdict, why = ("notice", "it is for us") if news else ("duplicate", "work on it goes on")
        hands.intake.tell(message, verdict, why, reading)
        for told in to_do:
            self._open.setdefault(told.notice.id, set()).add(message.id)
            if told.hook is not None:  # also for one that an earlier run has left in force
                hands.hooks[told.notice.id] = told.hook
        notices = [self._timed(told) for told in news]
        for notice in notices:
            self._outlived.add(notice)
        return notices

    def _is_done(self, notice_id: str) -> bool:
        """Tell whether nothing is left to be done about it now, also after more than a day."""
        is_planned = notice_id in self._outlived and notice_id not in self._open
        return is_planned or notice_id in self._done

    def _timed(self, told: ForInstance) -> Notice:
        """Return the notice; where a hook waits for as long as we say, that is its deadline."""
        wait_s = self._hands.hook_wait_s
        if told.hook is None or wait_s is None:
            return told.notice
        return replace(told.notice, deadline=Deadline.after(told.notice.received, wait_s))
