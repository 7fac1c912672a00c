"""Tells when all trainers on this node have saved, so that nothing has to wait for them longer."""

import asyncio
from collections.abc import Awaitable, Callable

from watcher.notice import Moment
from watcher.trainers import Trainers

LOOK_EVERY_S = 0.2
"""Seconds between looks at the trainers while they are waited for."""


class AllSaved:
    """Watches the trainers from the moment at which they are told.

    Only those count that were seen at work: who never says how it is may still be saving, and
    files from before tell of nobody.

    Args:
        look: Returns what the trainers say now.
        now: Reads both clocks.
    """

    def __init__(self, look: Callable[[], Awaitable[Trainers]], now: Callable[[], Moment]) -> None:
        self._look = look
        self._now = now
        self._were_at_work = False

    async def keep_telling(
        self, is_waited_for: Callable[[], bool], tell: Callable[[], None]
    ) -> None:
        """Call ``tell`` when they have, as long as that is waited for. Never ends."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if not is_waited_for():
                self.forget()
            elif await self.reached() and is_waited_for():
                tell()

    def forget(self) -> None:
        """Begin anew: what was seen so far concerns another notice."""
        self._were_at_work = False

    async def reached(self) -> bool:
        """Look once; True if all that were at work have committed what they will, or are dead."""
        trainers = await self._look()
        now_s = self._now().boottime_s
        is_known = not trainers.unknown and not trainers.refused
        at_work = any(trainer.is_at_work(now_s) for trainer in trainers.found)
        self._were_at_work = self._were_at_work or at_work
        return is_known and self._were_at_work and not at_work
