"""Moves notices from a cluster's queue to the handler, and acknowledges what is done.

Any number of relays may read one queue side by side; nobody has to be elected. What one of them
holds is hidden from the others for ten seconds at a time, so if it dies they go on with it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from watcher.custody import Custody, Message
from watcher.errors import AwsCallFailed, SourceError
from watcher.health import SourceHealth
from watcher.notice import Moment
from watcher.relay.addressees import Addressees
from watcher.relay.delivery import Delivery
from watcher.sources.intake import Intake
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices
from watcher.sources.reception import Reception

log = logging.getLogger(__name__)

VISIBILITY_S = 10
"""How long a message stays hidden after a relay that held it has died, in seconds."""

POLL_S = 5
"""How long a receive waits for a first message, in seconds: less than the visibility, because what
is given to a relay that has died while it waited is late by that much more."""

HELD_LIMIT = 2000
"""Messages in hand at which no more are received; other relays see the rest."""

DRAIN_LIMIT_S = 10.0
"""Seconds that receives and what is in hand get when the relay is told to end."""

_FULL_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Parts:
    """What a relay is made of."""

    readers: Sequence[Reception]
    """Each receives ten messages a call; several make a burst short."""
    intake: Intake
    custody: Custody
    addressees: Addressees
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class _Work:
    message: Message
    notices: Notices
    told: list[ForInstance]
    is_all: bool = True
    """Whether nothing of the message is for somebody else."""


class Relay:
    """One relay.

    Args:
        parts: What it is made of.
        health: Where a failed receive is noted.
        now: Reads both clocks.
    """

    def __init__(self, parts: Parts, health: SourceHealth, now: Callable[[], Moment]) -> None:
        self._parts = parts
        self._health = health
        self._now = now

    async def run(self, stop: asyncio.Event) -> None:
        """Receive and deliver until told to stop, then end what is in hand if that is quick.

        A receive that has begun is waited for, because nobody else could see what it brings. What
        is not ended is seen by other relays when its visibility runs out.
        """
        clock = asyncio.get_running_loop().time
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
                for reader in self._parts.readers:
                    group.create_task(self._read(reader, group, stop))
                await stop.wait()
                limit.reschedule(clock() + DRAIN_LIMIT_S)

    async def _read(self, reader: Reception, group: asyncio.TaskGroup, stop: asyncio.Event) -> None:
        while not stop.is_set():
            while self._parts.custody.count >= HELD_LIMIT:  # noqa: ASYNC110 - rare, and brief
                await asyncio.sleep(_FULL_PAUSE_S)
            try:
                messages = await reader.receive(visibility_s=VISIBILITY_S)
            except SourceError as error:
                if self._health.failed(error, self._now()):
                    log.warning("relay blind outcome=%s why=%s", error.outcome, error)
                continue
            for work in await self._admit(messages):
                group.create_task(self._deliver(work))

    async def _admit(self, messages: Sequence[Message]) -> list[_Work]:
        """Take what is ours into our hands, and leave the rest as it is."""
        parts = self._parts
        read = [work for message in messages if (work := await self._understood(message))]
        try:
            await parts.addressees.learn(told.instance_id for work in read for told in work.told)
        except AwsCallFailed as error:
            for work in read:
                parts.intake.tell(work.message, "undecided", str(error), work.notices)
            return []
        admitted = []
        for work in read:
            ours = [told for told in work.told if parts.addressees.is_ours(told.instance_id)]
            if ours:
                parts.intake.tell(work.message, "notice", "it is for this cluster", work.notices)
                parts.custody.take(work.message)
                admitted.append(replace(work, told=ours, is_all=len(ours) == len(work.told)))
            else:
                why = "no instance of it carries our tag, or is in the reservation"
                parts.intake.tell(work.message, "foreign", why, work.notices)
        return admitted

    async def _understood(self, message: Message) -> _Work | None:
        """Return the work that a message is; None if there is none, or none for us now."""
        parts = self._parts
        if parts.custody.holds(message.id):
            parts.custody.take(message)  # by its newer receipt; the work on it goes on
            return None
        reading = parts.intake.read(message)
        if isinstance(reading, Ignored) and reading.grounds is not Grounds.UNKNOWN_KIND:
            parts.custody.take(message)
            parts.custody.finish(message.id)
        if not isinstance(reading, Notices):
            return None
        try:
            told = await parts.addressees.expanded(reading)
        except AwsCallFailed as error:
            parts.intake.tell(message, "undecided", str(error), reading)
            return None
        return _Work(message, reading, told)

    async def _deliver(self, work: _Work) -> None:
        """Deliver all of a message, and let the queue forget it if nothing of it is left."""
        deliver = self._parts.delivery.deliver
        are_done = await asyncio.gather(*(deliver(told) for told in work.told))
        if all(are_done) and work.is_all:
            self._parts.custody.finish(work.message.id)
        else:
            self._parts.custody.let_go(work.message.id)
