"""Says in Events on the Node how its drain goes; the drain never waits for it."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from watcher.errors import KubeError
from watcher.kube.client import KubeClient
from watcher.kube.events import NodeEvent, tell
from watcher.kube.objects import Node
from watcher.notice import Moment, rfc3339

log = logging.getLogger(__name__)

TELL_LIMIT_S = 0.5
"""Longest that an Event may hold up the next round, in seconds."""

TELL_EVERY_S = 10.0
"""Seconds between Events of one reason: the pods that they name may change every second."""


@dataclass(frozen=True, slots=True)
class Word:
    """What is said, once about the same.

    Attributes:
        reason: In one word, as ``kubectl get events`` shows it.
        message: For people.
        about: The pods, or the notices, that it is about.
        is_warning: Whether somebody might want to do something.
    """

    reason: str
    message: str
    about: Iterable[str]
    is_warning: bool = False


class DrainEvents:
    """Writes the Events of a drain.

    Args:
        client: Where to.
        boot_id: This boot's; the next one's Events are others.
        now: Reads both clocks.
    """

    def __init__(self, client: KubeClient, boot_id: str, now: Callable[[], Moment]) -> None:
        self._client = client
        self._boot_id = boot_id
        self._now = now
        self._told: dict[str, tuple[frozenset[str], float]] = {}

    async def tell(self, node: Node, word: Word) -> None:
        """Say it, unless that was said, or something like it a moment ago; never raises."""
        about, now = frozenset(word.about), self._now()
        before, at_s = self._told.get(word.reason, (frozenset[str](), 0.0))
        if about == before or now.boottime_s < at_s + TELL_EVERY_S:
            return
        self._told[word.reason] = (about, now.boottime_s)
        event = NodeEvent(
            key=f"{self._boot_id}/{word.reason}/{','.join(sorted(about))}",
            reason=word.reason,
            message=word.message,
            is_warning=word.is_warning,
            at=rfc3339(now.wall.replace(microsecond=0)),
        )
        try:
            async with asyncio.timeout(TELL_LIMIT_S):
                await tell(self._client, node, event)
        except (KubeError, TimeoutError) as error:
            log.warning("event not written reason=%s why=%s", word.reason, str(error) or "too slow")
