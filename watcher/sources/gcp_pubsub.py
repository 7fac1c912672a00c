"""What the audit log says of this VM, from a Pub/Sub subscription of its own.

An entry comes after the act, so on a VM that still runs it is the second road: the metadata server
has said it before, unless it was not heard. A message is acknowledged when the actions are done;
one about another VM is left as it is, and one from before this boot tells how the last one ended.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import MappingProxyType

from watcher.custody import Custody, Message
from watcher.errors import GcpCallFailed, SourceUnavailable
from watcher.gcp.metadata import GcpMetadata
from watcher.health import SourceHealth
from watcher.notice import Moment, Notice, NoticeKind, rfc3339
from watcher.sources.gcp_entry import PUBSUB
from watcher.sources.intake import Intake
from watcher.sources.outlived import Outlived, booted_since
from watcher.sources.reading import ForInstance, Grounds, Ignored
from watcher.sources.reception import KEYS, Reception
from watcher.sources.remembered import Remembered

NAME = PUBSUB

VISIBILITY_S = 15
"""For how long each call keeps a message, in seconds. It is kept anew after a third, well before
the 10 s that a subscription gives by default, and at least."""

WAIT_S = 1
"""That a pull may wait; for how long is Pub/Sub's to say."""

OVER_AFTER_S = MappingProxyType(
    {
        # As for the metadata key: the VM is off within its window, or was not taken.
        NoticeKind.PREEMPTION: 300.0,
        NoticeKind.MAINTENANCE: 300.0,
        # Advice about a pause of seconds, which has begun when it is logged.
        NoticeKind.LIVE_MIGRATION: 300.0,
    }
)
"""Seconds after the deadline, or after the receipt of what has none, at which a notice is over."""


@dataclass(frozen=True, slots=True)
class Hands:
    """Who receives, who keeps and who reads the messages."""

    reception: Reception
    custody: Custody
    intake: Intake


class GcpPubsub:
    """The notices in one VM's subscription.

    Args:
        hands: What the source works with.
        metadata: Says which VM this is.
        health: Where usable answers are noted.
        now: Reads both clocks.
        adopted: Notices that an earlier run of the daemon has left in force.
    """

    name = NAME
    keys = KEYS
    kinds = frozenset(OVER_AFTER_S)
    """What a message can tell of."""

    def __init__(
        self,
        hands: Hands,
        metadata: GcpMetadata,
        health: SourceHealth,
        now: Callable[[], Moment],
        adopted: tuple[Notice, ...] = (),
    ) -> None:
        self.health = health
        self._hands = hands
        self._metadata = metadata
        self._now = now
        self._my_id = ""
        self._done = Remembered(now)
        self._open: dict[str, set[str]] = {notice.id: set() for notice in adopted}
        self._outlived = Outlived(adopted, OVER_AFTER_S)

    async def notices(self) -> AsyncIterator[Notice]:
        """Yield each notice once, and its withdrawal if the VM outlives it by far."""
        while True:
            # First: what an earlier run has left may be over by now, and a message may be long off.
            for over in self._outlived.since(self._now()):
                yield over
            for message in await self._receive():
                if notice := self._read(message):
                    yield notice

    def acknowledge(self, notice: Notice) -> None:
        """Have the messages acknowledged that said this."""
        self._done.add(notice.id)
        for message_id in self._open.pop(notice.id, ()):
            self._hands.custody.finish(message_id)

    async def _receive(self) -> list[Message]:
        """Return the next messages, but none before it is known which are ours."""
        unknown: GcpCallFailed | None = None
        try:
            self._my_id = (await self._metadata.identity()).id
        except GcpCallFailed as error:
            unknown = error

        def require_known() -> None:
            if unknown is not None:
                raise SourceUnavailable(str(unknown), outcome=unknown.outcome) from unknown

        receive = self._hands.reception.receive
        return await receive(visibility_s=VISIBILITY_S, only_if=require_known)

    def _read(self, message: Message) -> Notice | None:
        """Return what the message says to this VM, if it was not heard before."""
        hands = self._hands
        reading = hands.intake.read(message)
        if reading is None:
            return None
        if isinstance(reading, Ignored):
            if reading.grounds is not Grounds.UNKNOWN_KIND:
                self._finish(message)
            return None
        mine = [
            told
            for told in reading.addressed
            if isinstance(told, ForInstance) and told.instance_id == self._my_id
        ]
        if not mine:
            hands.intake.tell(message, "foreign", "it is for other instances", reading)
            return None
        (told,) = mine  # an entry is about one instance
        if began := booted_since(told, self._now()):
            why = f"it was said before {rfc3339(began)}, when this node was booted"
            hands.intake.tell(message, f"ignored_{Grounds.BEFORE_BOOT}", why, reading)
            self._finish(message)
            return None
        if told.notice.id in self._done:
            hands.intake.tell(message, "duplicate", "all is done about it", reading)
            self._finish(message)
            return None
        is_news = told.notice.id not in self._open
        verdict, why = ("notice", "it is for us") if is_news else ("duplicate", "work goes on")
        hands.intake.tell(message, verdict, why, reading)
        hands.custody.take(message)
        self._open.setdefault(told.notice.id, set()).add(message.id)
        self._outlived.add(told.notice)
        return told.notice if is_news else None

    def _finish(self, message: Message) -> None:
        self._hands.custody.take(message)
        self._hands.custody.finish(message.id)
