"""The daemon through 50,000 polls of EC2's metadata and 200 notices, with every fault at random.

REPRIEVE_SOAK_POLLS=2000 is a sample of it, with a notice for every 250 polls.
"""

import asyncio
import os
import random
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.clocks import eventually
from tests.support.hurried_daemon import HurriedDaemon
from tests.support.watcher_process import WatcherProcess, control, daemon_process, lift_faults
from tests.support.weather import Weather, seeded
from watcher.simulator.aws.scenario import AwsScenario
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.faults import FaultKind
from watcher.simulator.server import make_app, serving

POLLS = int(os.environ.get("REPRIEVE_SOAK_POLLS", "50000"))
EACH = 250
"""Polls for each notice, half of them while it is in force."""

BETWEEN = 40
"""Polls between two faults."""

WARM = 0.1
"""The part after which it is first counted what the process holds: caches and pools are full."""

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(3600)]

META_DATA = "/latest/meta-data/"
ABSENCES = (
    META_DATA + "spot/instance-action",
    META_DATA + "spot/termination-time",
    META_DATA + "autoscaling/target-lifecycle-state",
    "/latest/api/token",
)

RENAMING = {FaultKind.UNKNOWN_ACTION, FaultKind.NO_TIME, FaultKind.BAD_TIME}
"""Another action makes another notice of a Spot notice, and so does another time when the first has
passed; the true one then comes back. That is meant, and would be counted twice."""

SAID = re.compile(r"notice (admitted|withdrawn|duplicate|unknown|planned).* notice_id=(\S+)")
DONE = re.compile(r"action (done|undone) action=flag_file notice_id=(\S+)")


class Soak:
    """One daemon's rounds: each has a notice of any kind, and its end."""

    def __init__(
        self, url: str, watcher: WatcherProcess, chance: random.Random, polls: Counter[str]
    ) -> None:
        self._url = url
        self._watcher = watcher
        self._chance = chance
        self._polls = polls
        self.weather = Weather(url, chance, ABSENCES, own=("expire_tokens",))
        self._told = 0

    async def round(self, number: int) -> None:
        """Let a notice come and go, and see each acted on once and withdrawn once."""
        kind = self._chance.choice(["asg", "maintenance", "notice"])
        spared = RENAMING if kind == "notice" else set()
        await lift_faults(self._url)
        begin, end = _changes(kind, number)
        for (name, fields), is_there in ((begin, True), (end, False)):
            await self.weather.worsen(spared)
            await control(self._url, name, **fields)
            async with asyncio.timeout(120):
                while (self._watcher.flag() is not None) != is_there:  # noqa: ASYNC110 - another process's file
                    await asyncio.sleep(0.005)
            await self._time_passes(EACH // 2, spared)
        await lift_faults(self._url)
        await self._each_was_told_once()

    async def _time_passes(self, polls: int, spared: set[FaultKind]) -> None:
        until = self._polls.total() + polls
        while (now := self._polls.total()) < until:
            await self.weather.worsen(spared)
            await self._until(min(until, now + BETWEEN))

    async def _until(self, polls: int) -> None:
        await eventually(lambda: self._polls.total() >= polls)

    async def _each_was_told_once(self) -> None:
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
        told = {notice_id for _, notice_id in said}
        assert told
        assert said == {(one, of): 1 for of in told for one in ("admitted", "withdrawn")}, log
        assert done == {(one, of): 1 for of in told for one in ("done", "undone")}, log

    def _said(self, words: str) -> int:
        return self._watcher.log[self._told :].count(words)


def _changes(kind: str, number: int) -> tuple[tuple[str, dict[str, object]], ...]:
    """Return what begins a notice of this kind and what ends it; each has another time or id."""
    if kind == "asg":
        return ("asg", {"target_state": "Terminated"}), ("asg", {"target_state": "InService"})
    if kind == "notice":
        return ("notice", {"window_s": 0, "ago_s": number}), ("withdraw", {})
    event = {"event_id": f"instance-event-{number:017x}"}
    return (
        ("maintenance", {**event, "code": "system-reboot", "not_before_s": 60}),
        ("maintenance_end", {**event, "state": "completed"}),
    )


async def test_nothing_grows_and_no_notice_is_lost_in_50000_polls(
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each notice is acted on and taken back once; tasks, descriptors, threads, memory stay."""
    hurried = HurriedDaemon(tmp_path / "hurried")
    rounds, began = max(2, POLLS // EACH), time.monotonic()
    polls: Counter[str] = Counter()
    app = make_app(AwsScenario(), ScenarioClock(), lambda one: polls.update([one.path]))
    async with (
        serving(app, "127.0.0.1", 0) as url,
        daemon_process(run_dir, url, **hurried.environment()) as watcher,
    ):
        await watcher.answers("/readyz", 200)
        pid = watcher.process.pid
        soak = Soak(url, watcher, seeded(), polls)
        before: dict[str, int] = {}
        for number in range(rounds):
            await soak.round(number)
            if number == int(rounds * WARM):
                before = await hurried.held(pid)
            if number % 10 == 9:
                with capsys.disabled():
                    print(  # noqa: T201 - minutes pass without it
                        f"soak notices={number + 1}/{rounds} polls={polls.total()} "
                        f"s={time.monotonic() - began:.0f} {await hurried.held(pid)}"
                    )
        after = await hurried.holds_no_more(pid, before)
        print(before, after, polls, soak.weather.made)  # noqa: T201 - shown by -s
        assert polls.total() >= rounds * 2 * (EACH // 2)
