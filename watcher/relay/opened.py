"""What a relay reads, opened and ready, whichever cloud it is of."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from watcher.custody import Custody
from watcher.health import SourceHealth
from watcher.relay.relay import Relay


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue's relay, and who holds the messages that it has in hand."""

    relay: Relay
    custody: Custody


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """It is open until the block around it ends.

    Attributes:
        what: What is read, for people.
        healths: What may be blind.
        queue: What moves a queue's notices; None where no queue is read.
        keepers: What else has to run meanwhile.
    """

    what: str
    healths: Sequence[SourceHealth]
    queue: Queue | None = None
    keepers: Sequence[Callable[[], Coroutine[None, None, None]]] = ()
