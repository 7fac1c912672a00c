"""The messages in our hands: hidden from other readers while work goes on, deleted when it is done.

A process that dies loses nothing: what it held is seen again when its visibility runs out.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import Gauge

from watcher.errors import CloudCallFailed

log = logging.getLogger(__name__)

BATCH = 10
"""Most messages in one call: what SQS takes. Source: SQS API reference, DeleteMessageBatch (read
2026-11-30)."""

HOLD_LIMIT_S = 3 * 3600.0
"""Longest that a message is kept hidden, in seconds: beyond the longest heartbeat of an
auto-scaling hook (2 h), below the 12 h after which SQS refuses. Source: SQS developer guide,
"Visibility timeout" (read 2026-11-30)."""

_PAUSE_S = 1.0
"""After a delete that failed: its messages come back by themselves, so there is no hurry."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it left the queue; others can't see it until its visibility runs out."""

    id: str
    """The same at every receipt."""
    handle: str
    """What this receipt is deleted by; an older one deletes nothing, and does not say so."""
    body: str
    receipts: int
    """How often the queue has given it out, this time included; AWS says approximately, and 0 is
    where the queue does not say."""


class Queue(Protocol):
    """A cloud's queue, as far as messages in hand are concerned."""

    async def delete(self, handles: Sequence[str]) -> dict[str, str]:
        """Delete up to BATCH messages by their receipts; return those refused, each with a code.

        Raises:
            CloudCallFailed: Perhaps none has been deleted.
        """
        ...

    async def hide(self, handles: Sequence[str], *, visibility_s: int) -> dict[str, str]:
        """Hide up to BATCH messages for ``visibility_s`` seconds from now; return as delete does.

        Raises:
            CloudCallFailed: Perhaps none has been hidden.
        """
        ...


@dataclass(slots=True)
class _Held:
    handle: str
    since: float
    hidden_at: float


class Custody:
    """Holds messages of one queue; :meth:`keep` has to run for as long as it does.

    Args:
        queue: Where the messages come from.
        visibility_s: For how long each call hides a message; it is hidden again after a third.
        held: Shows how many there are.
    """

    def __init__(self, queue: Queue, visibility_s: int, held: Gauge) -> None:
        self._queue = queue
        self._visibility_s = visibility_s
        self._gauge = held
        self._clock = asyncio.get_running_loop().time
        self._held: dict[str, _Held] = {}
        self._finished: list[str] = []
        self._has_finished = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def take(self, message: Message) -> None:
        """Hold a message from now on; one that is held already is held by its newer receipt."""
        now = self._clock()
        since = self._held[message.id].since if message.id in self._held else now
        self._held[message.id] = _Held(message.handle, since, now)
        self._changed()

    @property
    def count(self) -> int:
        """How many messages are in our hands."""
        return len(self._held)

    def holds(self, message_id: str) -> bool:
        """Tell whether the message is in our hands."""
        return message_id in self._held

    def finish(self, message_id: str) -> None:
        """Have the message deleted, soon: all is done about it."""
        held = self._held.pop(message_id, None)
        if held is not None:
            self._finished.append(held.handle)
            self._has_finished.set()
            self._changed()

    def let_go(self, message_id: str) -> None:
        """Leave the message to whoever sees it when its visibility runs out."""
        self._held.pop(message_id, None)
        self._changed()

    async def keep(self) -> None:
        """Hide and delete as needed, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_hiding())
            group.create_task(self._keep_deleting())

    async def emptied(self) -> None:
        """Wait until nothing is held and all that is finished has been deleted."""
        await self._is_empty.wait()

    def _changed(self) -> None:
        self._gauge.set(len(self._held))
        if self._held or self._finished:
            self._is_empty.clear()
        else:
            self._is_empty.set()

    async def _keep_deleting(self) -> None:
        while True:
            await self._has_finished.wait()
            batch = self._finished[:BATCH]
            try:
                failed = await self._queue.delete(batch)
            except CloudCallFailed as error:
                log.warning(
                    "messages not deleted, they come back count=%d why=%s", len(batch), error
                )
                await asyncio.sleep(_PAUSE_S)
            else:
                if failed:
                    log.warning("messages not deleted, they come back count=%d", len(failed))
            del self._finished[: len(batch)]
            if not self._finished:
                self._has_finished.clear()
            self._changed()

    async def _keep_hiding(self) -> None:
        every_s = self._visibility_s / 3
        while True:
            await asyncio.sleep(every_s)
            self._let_go_of_the_old()
            due = [
                message_id
                for message_id, held in self._held.items()
                if held.hidden_at <= self._clock() - every_s / 2
            ]
            for start in range(0, len(due), BATCH):
                await self._hide(due[start : start + BATCH])

    async def _hide(self, message_ids: list[str]) -> None:
        """Hide those of the messages that are still held, and let go of what can't be hidden.

        A queue refuses one that it has deleted or given out anew; a failed call leaves all held.
        """
        held = {name: self._held[name] for name in message_ids if name in self._held}
        if not held:
            return
        asked_at = self._clock()
        handles = [one.handle for one in held.values()]
        try:
            failed = await self._queue.hide(handles, visibility_s=self._visibility_s)
        except CloudCallFailed as error:
            log.warning("messages not kept hidden count=%d why=%s", len(held), error)
            return
        for message_id, one in held.items():
            one.hidden_at = asked_at
            is_ours = self._held.get(message_id) is one  # not finished or received anew meanwhile
            if one.handle in failed and is_ours:
                log.warning("message let go message_id=%s why=the queue lost it", message_id)
                self.let_go(message_id)

    def _let_go_of_the_old(self) -> None:
        limit = self._clock() - HOLD_LIMIT_S
        for message_id in [name for name, held in self._held.items() if held.since < limit]:
            log.error("message let go message_id=%s held_s=%d", message_id, HOLD_LIMIT_S)
            self.let_go(message_id)
