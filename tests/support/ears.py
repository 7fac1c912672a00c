"""A source under supervision, as in the daemon, and what has come of it."""

import asyncio
from dataclasses import dataclass, field

from watcher.health import SourceHealth
from watcher.notice import Notice


@dataclass
class Ears:
    """What a source has said, and what is known of its keys."""

    health: SourceHealth
    inbox: asyncio.Queue[Notice] = field(default_factory=asyncio.Queue)

    def heard(self) -> list[Notice]:
        """Take everything out of the inbox."""
        return [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]

    async def hears(self) -> Notice:
        """Wait for the next notice."""
        async with asyncio.timeout(20):
            return await self.inbox.get()

    def is_blind(self, key: str) -> bool:
        """Tell whether the key is blind at the moment."""
        return self.health.keys[key].blind_since is not None
