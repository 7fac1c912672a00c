"""The source ``logind`` under supervision, against a logind of the test's own."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.clocks import TurnedClock, eventually
from watcher.actions.all_saved import AllSaved
from watcher.actions.trainer_look import TrainerLook
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind
from watcher.sources.logind import ID, KEY, NAME, Logind
from watcher.supervise import keep_running
from watcher.trainers import Trainers

BOOT_ID = "9f0c5b8e-2f5a-4a63-9a7d-0a1b2c3d4e5f"
NOWHERE = Path("/nonexistent/run")
"""A run directory in which no trainer says anything."""


@dataclass
class Ears:
    """The source under supervision, and what has come of it."""

    source: Logind
    health: SourceHealth
    inbox: asyncio.Queue[Notice]
    looks: list[Trainers] = field(default_factory=list)
    """What each look at the trainers has found."""

    async def looked_at_trainers(self, times: int) -> None:
        """Wait until they have been looked at so many times more."""
        until = len(self.looks) + times
        await eventually(lambda: len(self.looks) >= until)

    def heard(self) -> list[bool]:
        """Take everything out of the inbox: whether each is taken back."""
        notices = [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]
        assert {(notice.id, notice.kind) for notice in notices} <= {(ID, NoticeKind.SHUTDOWN)}
        return [notice.withdrawn for notice in notices]

    @property
    def why(self) -> str:
        """Why the source is blind; empty if it is not."""
        return self.health.keys[KEY].why

    @property
    def inhibitor(self) -> str:
        """What has become of the lock."""
        return self.health.facts.get("inhibitor", "")


@asynccontextmanager
async def hearing(
    address: str, clock: TurnedClock, adopted: Iterable[Notice] = (), run_dir: Path = NOWHERE
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does."""
    health = SourceHealth(NAME, (KEY,), clock(), Metrics())
    source = Logind(address, health, clock, adopted)
    ears = Ears(source, health, asyncio.Queue())
    look = TrainerLook(run_dir, BOOT_ID)

    async def looked() -> Trainers:
        ears.looks.append(await look())
        return ears.looks[-1]

    saved = AllSaved(looked, clock)
    running = asyncio.create_task(keep_running(source, ears.inbox, clock))
    keeping = asyncio.create_task(saved.keep_telling(source.is_delaying, source.let_go))
    try:
        yield ears
    finally:
        assert not running.done(), "the source has ended by itself"
        assert not keeping.done(), "nobody looks at the trainers any more"
        running.cancel()
        keeping.cancel()
        await asyncio.gather(running, keeping, return_exceptions=True)
        source.close()
