"""Notices from this node's own SQS queue, beside the metadata service.

A message is an edge: once deleted, nobody says it again. So it is hidden while the actions run, and
deleted when they are done; a daemon that dies before that hears it once more. What is for another
instance too is left as it is, for its owner, whatever is done about it here.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from watcher.aws.hook import LifecycleHook
from watcher.custody import Custody, Message
from watcher.errors import AwsCallFailed
from watcher.health import SourceHealth
from watcher.notice import Deadline, Moment, Notice, NoticeKind, rfc3339
from watcher.sources.aws_outlived import Outlived, booted_since
from watcher.sources.aws_recipient import Recipient
from watcher.sources.aws_words import QUEUE
from watcher.sources.intake import Intake
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices
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
        self._outlived = Outlived(adopted)

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield each notice once, and its withdrawal if the node outlives it by far."""
        while True:
            for message in await self._receive():
                for notice in await self._read(message):
                    yield notice
            for notice in self._outlived.since(self._now()):
                yield notice

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

    async def _read(self, message: Message) -> list[Notice]:
        """Return what the message says to this instance and was not heard before."""
        hands = self._hands
        reading = hands.intake.read(message)
        if isinstance(reading, Ignored):
            if reading.grounds is not Grounds.UNKNOWN_KIND:
                hands.custody.take(message)
                hands.custody.finish(message.id)
            return []
        if reading is None:
            return []
        try:
            mine = await self._recipient.mine(reading)
        except AwsCallFailed as error:
            # It stays where it is and is read again; acting on a guess would stop other jobs.
            hands.intake.tell(message, "undecided", str(error), reading)
            return []
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
        to_do = [told for told in mine if told.notice.id not in self._done]
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

    def _timed(self, told: ForInstance) -> Notice:
        """Return the notice; where a hook waits for as long as we say, that is its deadline."""
        wait_s = self._hands.hook_wait_s
        if told.hook is None or wait_s is None:
            return told.notice
        return replace(told.notice, deadline=Deadline.after(told.notice.received, wait_s))
