"""Supervision: what ends a source, and what does not."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from tests.support.clocks import START, TurnedClock
from watcher.errors import SourceFinished, SourceUnavailable
from watcher.health import SourceHealth
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind
from watcher.supervise import keep_running

NOTICE = Notice(id="a", kind=NoticeKind.PREEMPTION, source="fake", received=START)


class Played:
    """A source that goes through a list of notices and errors, and then ends or waits."""

    name = "fake"

    def __init__(self, *steps: Notice | Exception, then_ends: bool = False) -> None:
        self.health = SourceHealth("fake", ("key",), START, Metrics())
        self.starts = 0
        self._steps = list(steps)
        self._then_ends = then_ends

    async def notices(self) -> AsyncIterator[Notice]:
        """Play on from where the last iterator stopped."""
        self.starts += 1
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, Exception):
                raise step
            yield step
        if not self._then_ends:
            await asyncio.Event().wait()

    def acknowledge(self, notice: Notice) -> None:
        """Do nothing."""


def failure(why: str) -> SourceUnavailable:
    """Build a failed fetch."""
    error = SourceUnavailable(why, outcome="timeout")
    error.key = "key"
    return error


async def test_source_goes_on_when_fetches_fail(
    clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Notices before and after failures arrive, and equal failures are logged once."""
    source = Played(
        failure("slow"), NOTICE, failure("slow"), failure("slow"), failure("gone"), NOTICE
    )
    inbox: asyncio.Queue[Notice] = asyncio.Queue()
    with caplog.at_level(logging.WARNING):
        running = asyncio.create_task(keep_running(source, inbox, clock))
        assert [await inbox.get(), await inbox.get()] == [NOTICE, NOTICE]
    running.cancel()
    assert source.starts == 5
    assert [record.getMessage() for record in caplog.records] == [
        f"source blind source=fake key=key outcome=timeout why={why}" for why in ("slow", "gone")
    ]


async def test_daemon_is_told_when_a_source_ends(clock: TurnedClock) -> None:
    """A source that returns would be deafness nobody notices."""
    with pytest.raises(SourceFinished, match="fake"):
        await keep_running(Played(NOTICE, then_ends=True), asyncio.Queue(), clock)


async def test_daemon_is_told_when_a_source_has_a_bug(clock: TurnedClock) -> None:
    """Anything but a SourceError is not weather but a bug: restarted, the levels are read again."""
    with pytest.raises(TypeError):
        await keep_running(Played(TypeError("bug")), asyncio.Queue(), clock)
