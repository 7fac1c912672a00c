"""A daemon through 50,000 polls of a cloud's metadata and 200 notices, with every fault at random.

REPRIEVE_SOAK_POLLS=2000 is a sample of it, with a notice for every 250 polls.
"""

import asyncio
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

from tests.support.clocks import eventually
from tests.support.hurried_daemon import HurriedDaemon
from tests.support.watcher_process import WatcherProcess, control, lift_faults
from tests.support.weather import Weather

POLLS = int(os.environ.get("REPRIEVE_SOAK_POLLS", "50000"))
EACH = 250
"""Polls for each notice, half of them while it is in force."""

BETWEEN = 40
"""Polls between two faults."""

WARM = 0.1
"""The part after which it is first counted what the process holds: caches and pools are full."""

SAID = re.compile(r"notice (admitted|withdrawn|duplicate|unknown|planned).* notice_id=(\S+)")
DONE = re.compile(r"action (done|undone) action=flag_file notice_id=(\S+)")

Happening = tuple[str, dict[str, object]]
"""What is said to the simulator: a word, and its fields."""


@dataclass(frozen=True)
class Course:
    """One notice: what begins it, what ends it, and the faults that would make two of it."""

    begin: Happening
    end: Happening
    spared: Collection[str] = ()
    is_corrected: bool = False
    """Whether the same notice is told again where its time could not be read at first."""


class Soak:
    """One daemon's rounds: each has a notice of any kind, and its end."""

    def __init__(
        self,
        watcher: WatcherProcess,
        weather: Weather,
        polls: Counter[str],
        courses: Callable[[int], Course],
    ) -> None:
        self._watcher = watcher
        self._weather = weather
        self._polls = polls
        self._courses = courses
        self._told = 0

    async def through(self, hurried: HurriedDaemon, say: Callable[[str], object]) -> None:
        """Live through all of it, and see that the process holds no more than at its beginning."""
        rounds, began = max(2, POLLS // EACH), time.monotonic()
        pid = self._watcher.process.pid
        before: dict[str, int] = {}
        for number in range(rounds):
            await self._round(self._courses(number))
            if number == int(rounds * WARM):
                before = await hurried.held(pid)
            if number % 10 == 9:
                say(
                    f"soak notices={number + 1}/{rounds} polls={self._polls.total()} "
                    f"s={time.monotonic() - began:.0f} {await hurried.held(pid)}"
                )
        after = await hurried.holds_no_more(pid, before)
        say(f"{before} {after} {self._polls} {self._weather.made}")
        assert self._polls.total() >= rounds * 2 * (EACH // 2)

    async def _round(self, course: Course) -> None:
        """Let a notice come and go, and see each acted on once and withdrawn once."""
        await lift_faults(self._weather.url)
        for (name, fields), is_there in ((course.begin, True), (course.end, False)):
            await self._weather.worsen(course.spared)
            await control(self._weather.url, name, **fields)
            async with asyncio.timeout(120):
                while (self._watcher.flag() is not None) != is_there:  # noqa: ASYNC110 - another process's file
                    await asyncio.sleep(0.005)
            await self._time_passes(EACH // 2, course.spared)
        await lift_faults(self._weather.url)
        await self._each_was_told_once(is_corrected=course.is_corrected)

    async def _time_passes(self, polls: int, spared: Collection[str]) -> None:
        until = self._polls.total() + polls
        while (now := self._polls.total()) < until:
            await self._weather.worsen(spared)
            await self._until(min(until, now + BETWEEN))

    async def _until(self, polls: int) -> None:
        await eventually(lambda: self._polls.total() >= polls)

    async def _each_was_told_once(self, *, is_corrected: bool) -> None:
        """See that what this round's log says of each notice is one beginning and one end.

        A time that could not be read when a notice was first seen makes two of it, one after the
        other.
        """
        await eventually(lambda: self._said("notice withdrawn") == self._said("notice admitted"))
        await eventually(lambda: self._said("action undone") == self._said("notice withdrawn"))
        log = self._watcher.log[self._told :]
        self._told += len(log)
        said = Counter(SAID.findall(log))
        done = Counter(DONE.findall(log))
        if is_corrected:
            said = Counter({what: times for what, times in said.items() if what[0] != "duplicate"})
        told = {notice_id for _, notice_id in said}
        assert told
        assert said == {(one, of): 1 for of in told for one in ("admitted", "withdrawn")}, log
        assert done == {(one, of): 1 for of in told for one in ("done", "undone")}, log

    def _said(self, words: str) -> int:
        return self._watcher.log[self._told :].count(words)


def any_of(chance: random.Random, *kinds: Callable[[int], Course]) -> Callable[[int], Course]:
    """Return what makes a course of one of these kinds, by the number of its round."""

    def course(number: int) -> Course:
        return chance.choice(kinds)(number)

    return course
