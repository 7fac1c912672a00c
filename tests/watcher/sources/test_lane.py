"""A lane on made-up time: which key is asked for when, and what a failure or a suspend changes."""

import asyncio
from collections.abc import Sequence
from math import inf

import pytest

from tests.support.clocks import START
from watcher.errors import SourceError, SourceThrottled, SourceUnavailable
from watcher.health import SourceHealth
from watcher.httpclient import Answer
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice
from watcher.sources.lane import NOTHING, Lane, Look, Sight
from watcher.sources.pace import Pace
from watcher.supervise import keep_running

SPOT, REBALANCE, SCHEDULED = "spot", "rebalance", "scheduled"


class Silent:
    """A key that never shows anything."""

    def answered(self, _answer: Answer, _now: Moment) -> Sight:
        """Take in an answer."""
        return NOTHING

    def unknown(self) -> None:
        """Take in a failed fetch."""


class Server:
    """What a lane asks, in order, and which keys fail."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failures: dict[str, SourceError] = {}

    async def get(self, path: str) -> Answer:
        """Note it, and fail as told."""
        self.asked.append(path)
        if path in self.failures:
            raise self.failures[path]
        return Answer(404, {}, b"")


def look(name: str, every_s: float, *, is_vital: bool = True) -> Look:
    """Build a key that a server knows by its name."""
    return Look(name, name, Pace(every_s), Silent(), is_vital)


class Run:
    """Seconds of made-up time of one lane, in any number of stretches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, looks: Sequence[Look]) -> None:
        self.server = Server()
        self.now_s = self.slept_s = 0.0
        names = tuple(one.name for one in looks)
        self.health = SourceHealth("test", names, START, Metrics())
        self.lane = Lane("test", self.server, looks, self.health, self.moment)
        self.lane._clock = lambda: self.now_s
        self.lane._ahead_s = self.lane._boottime_ahead_s()
        self._end_s, self._over, self._go = 0.0, asyncio.Event(), asyncio.Event()
        self._real_sleep = asyncio.sleep
        monkeypatch.setattr("watcher.sources.lane.asyncio.sleep", self._sleep)

    def moment(self) -> Moment:
        """Read both clocks; only CLOCK_BOOTTIME knows of a suspend."""
        return Moment(START.wall, START.boottime_s + self.now_s + self.slept_s)

    async def asked_in(self, seconds: float) -> list[str]:
        """Let the lane run for so long; return what it has asked for, in order."""
        before = len(self.server.asked)
        self._end_s += seconds
        self._over.clear()
        self._go.set()
        async with asyncio.timeout(20):
            await self._over.wait()
        return self.server.asked[before:]

    async def _sleep(self, delay_s: float) -> None:
        while self.now_s + delay_s > self._end_s:
            self._go.clear()
            self._over.set()
            await self._go.wait()
        self.now_s += delay_s
        await self._real_sleep(0)


class Running:
    """A lane under supervision for the length of a block."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.inbox: asyncio.Queue[Notice] = asyncio.Queue()

    async def __aenter__(self) -> Run:
        self._task = asyncio.create_task(keep_running(self._run.lane, self.inbox, self._run.moment))
        return self._run

    async def __aexit__(self, *_: object) -> None:
        assert not self._task.done(), "the lane has ended by itself"
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_lane_asks_for_each_key_on_its_grid_when_time_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of several that are due the first in rank comes first; none drifts, none is forgotten."""
    run = Run(monkeypatch, [look(SPOT, 1.0), look(REBALANCE, 5.0), look(SCHEDULED, 30.0)])
    async with Running(run):
        asked = await run.asked_in(60.5)
    five = [SPOT, REBALANCE, *[SPOT] * 4]
    half_minute = [SPOT, REBALANCE, SCHEDULED, *[SPOT] * 4, *five * 5]
    assert asked == [*half_minute, *half_minute, SPOT, REBALANCE, SCHEDULED]


@pytest.mark.parametrize(
    ("error", "most"),
    [(SourceThrottled("HTTP 503", outcome="throttled"), 41), (None, 101)],
    ids=["throttled", "answered"],
)
async def test_lane_asks_less_often_when_throttled_but_every_five_seconds(
    monkeypatch: pytest.MonkeyPatch, error: SourceError | None, most: int
) -> None:
    """The back-off has an end, and slows down the throttled key alone."""
    run = Run(monkeypatch, [look(SPOT, 1.0), look(REBALANCE, 5.0)])
    if error is not None:
        run.server.failures[SPOT] = error
    async with Running(run):
        asked = await run.asked_in(100.5)
    assert 20 <= asked.count(SPOT) <= most
    assert asked.count(REBALANCE) == 21


async def test_lane_asks_again_soon_when_a_slow_key_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is unknown is not left so for half a minute; once it answers it has its pace back."""
    run = Run(monkeypatch, [look(SCHEDULED, 30.0)])
    run.server.failures[SCHEDULED] = SourceUnavailable("HTTP 500", outcome="server_error")
    async with Running(run):
        assert len(await run.asked_in(20.5)) == 5
        run.server.failures.clear()
        await run.asked_in(5)
        assert len(await run.asked_in(60)) == 2


async def test_lane_is_not_blind_when_only_a_nicety_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for until it answers, then never again, and vital keys do not notice."""
    run = Run(monkeypatch, [look(SPOT, 1.0), look("who", inf, is_vital=False)])
    run.server.failures["who"] = SourceUnavailable("HTTP 500", outcome="server_error")
    async with Running(run):
        asked = await run.asked_in(10.5)
        assert (asked.count(SPOT), asked.count("who")) == (11, 3)
        assert run.health.keys["who"].answered is None
        assert run.health.keys[SPOT].blind_since is None
        run.server.failures.clear()
        assert (await run.asked_in(100)).count("who") == 1


async def test_lane_asks_for_everything_at_once_when_the_machine_has_slept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a hibernation the loop's clock has stood still; nothing waits for what was left."""
    looks = [look(SPOT, 1.0), look(SCHEDULED, 30.0), look("who", inf)]
    run = Run(monkeypatch, looks)
    async with Running(run):
        await run.asked_in(3.5)
        run.slept_s += 3600
        assert await run.asked_in(1.0) == [SPOT, SCHEDULED, "who"]
        assert await run.asked_in(3.0) == [SPOT] * 3


async def test_lane_notices_within_a_second_that_the_machine_has_slept_when_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lane whose next key is due in half a minute looks at the clocks meanwhile."""
    run = Run(monkeypatch, [look(SCHEDULED, 30.0)])
    async with Running(run):
        await run.asked_in(3.5)
        run.slept_s += 2
        assert await run.asked_in(1.0) == [SCHEDULED]
