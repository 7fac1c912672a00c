"""Moves notices from a cluster's queue to the handler, and acknowledges what is done.

Any number of relays may read one queue side by side; nobody has to be elected. What one of them
holds is hidden from the others for ten seconds at a time, so if it dies they go on with it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from watcher.custody import Custody, Message
from watcher.errors import CloudCallFailed, SourceError
from watcher.health import SourceHealth
from watcher.notice import Moment
from watcher.relay.addressees import Belonging
from watcher.relay.delivery import Delivery
from watcher.relay.hooks import Hooks
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
    addressees: Belonging
    delivery: Delivery
    hooks: Hooks | None = None
    """Lets instances go when their nodes have had their time; None where that is not ours to do."""


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
            if self._parts.custody.count >= HELD_LIMIT:
                await asyncio.sleep(_FULL_PAUSE_S)
                continue
            try:
                messages = await reader.receive(visibility_s=VISIBILITY_S)
            except SourceError as error:
                if self._health.failed(error, self._now()):
                    log.warning("relay blind outcome=%s why=%s", error.outcome, error)
                continue
            for message in messages:
                notices = self._understood(message)
                if notices is not None:
                    # From here on it is kept hidden, however long EC2 takes.
                    self._parts.custody.take(message)
                    group.create_task(self._handle(message, notices))

    def _understood(self, message: Message) -> Notices | None:
        """Return what a message tells; None if there is nothing to do, or nothing more."""
        parts = self._parts
        if parts.custody.holds(message.id):
            parts.custody.take(message)  # by its newer receipt; the work on it goes on
            return None
        reading = parts.intake.read(message)
        if isinstance(reading, Ignored) and reading.grounds is not Grounds.UNKNOWN_KIND:
            parts.custody.take(message)
            parts.custody.finish(message.id)
        return reading if isinstance(reading, Notices) else None

    async def _handle(self, message: Message, notices: Notices) -> None:
        """Deliver what of a message is ours; each on its own, so that none waits for another's EC2.

        The queue may forget it when it is all done, and nothing of it is for somebody else.
        """
        parts = self._parts
        try:
            ours = await parts.addressees.ours(notices)
        except CloudCallFailed as error:
            parts.intake.tell(message, "undecided", str(error), notices)
            parts.custody.let_go(message.id)
            return
        if ours.told:
            parts.intake.tell(message, "notice", "it is for this cluster", notices)
        else:
            why = "no instance of it carries our tag, or is in the reservation"
            parts.intake.tell(message, "foreign", why, notices)
        are_done = await asyncio.gather(*(self._see_to(told) for told in ours.told))
        if ours.told and ours.is_all and all(are_done):
            parts.custody.finish(message.id)
        else:
            parts.custody.let_go(message.id)

    async def _see_to(self, told: ForInstance) -> bool:
        """Deliver a notice, and let its instance go after that; tell whether it is delivered."""
        hooks = self._parts.hooks
        if hooks is None:
            return await self._parts.delivery.deliver(told)
        told = hooks.timed(told)
        is_done = await self._parts.delivery.deliver(told)
        if is_done:
            await hooks.see_off(told)
        return is_done
