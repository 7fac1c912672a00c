"""The source ``command`` under supervision, and programs that do what the test says."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.clocks import TurnedClock, eventually
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Notice
from watcher.sources.command import KEY, NAME, Command
from watcher.sources.command_config import CommandConfig
from watcher.supervise import keep_running

SHELL = "/bin/sh"


@dataclass
class Ears:
    """The source under supervision, and what has come of it."""

    source: Command
    health: SourceHealth
    metrics: Metrics
    inbox: asyncio.Queue[Notice]

    def heard(self) -> list[tuple[str, bool]]:
        """Take everything out of the inbox: ids, and whether they are taken back."""
        notices = [self.inbox.get_nowait() for _ in range(self.inbox.qsize())]
        return [(notice.id.removeprefix("command-"), notice.withdrawn) for notice in notices]

    @property
    def why(self) -> str:
        """Why the source is blind; empty if it is not."""
        return self.health.keys[KEY].why

    def count(self, outcome: str) -> int:
        """Tell how many answers have come to this."""
        value = self.metrics.registry.get_sample_value(
            "reprieve_source_fetches_total", {"source": NAME, "outcome": outcome}
        )
        return int(value or 0)


@asynccontextmanager
async def hearing(
    config: CommandConfig, clock: TurnedClock, adopted: Iterable[Notice] = ()
) -> AsyncIterator[Ears]:
    """Run the source as the daemon does."""
    metrics = Metrics()
    health = SourceHealth(NAME, (KEY,), clock(), metrics)
    source = Command(config, health, clock, adopted)
    ears = Ears(source, health, metrics, asyncio.Queue())
    running = asyncio.create_task(keep_running(source, ears.inbox, clock))
    try:
        yield ears
    finally:
        assert not running.done(), "the source has ended by itself"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await source.close()


class Mouth:
    """A program that prints what the test says, line by line."""

    def __init__(self, directory: Path) -> None:
        self._pipe = directory / "mouth"
        os.mkfifo(self._pipe)
        self._end = os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK)  # so that it never ends itself
        self.argv = ("cat", str(self._pipe))

    def say(self, *lines: str) -> None:
        """Print lines."""
        os.write(self._end, "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape"))

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._end)


class Polled:
    """A program that ends at once with the status, and after the words, that the test says."""

    def __init__(self, directory: Path) -> None:
        self._answer = directory / "answer"
        self.runs = directory / "runs"
        self.answers(1)
        self.argv = (SHELL, "-c", f"echo >> {self.runs}; . {self._answer}")

    def answers(self, status: int, words: str = "") -> None:
        """Answer so from now on."""
        new = self._answer.with_suffix(".new")
        new.write_text(f"echo '{words}'\nexit {status}\n")
        new.replace(self._answer)

    async def asked(self, times: int) -> None:
        """Wait for so many more runs to have ended."""
        before = self._count()
        await eventually(lambda: self._count() > before + times)

    def _count(self) -> int:
        return self.runs.stat().st_size if self.runs.exists() else 0
