"""Notices from a program, told line by line, and never lost by its misbehaviour."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.processes import lives
from tests.support.told_by_program import SHELL, Ears, Mouth, hearing
from watcher.notice import Notice, NoticeKind
from watcher.program import LINE_LIMIT_BYTES
from watcher.sources import ROADS
from watcher.sources.command import KEY, ROAD
from watcher.sources.command_config import CommandConfig
from watcher.sources.notice_line import KINDS

QUICK = CommandConfig(interval_s=0.01, limit_s=20.0)


@pytest.fixture
def mouth(tmp_path: Path) -> Iterator[Mouth]:
    """Return a program that prints what it is told to."""
    mouth = Mouth(tmp_path)
    yield mouth
    mouth.close()


def script(*lines: str) -> tuple[str, ...]:
    """Return a program of these lines."""
    return (SHELL, "-c", "\n".join(lines))


def preemption(clock: TurnedClock, name: str = "preemption") -> Notice:
    """Build a notice that an earlier run has heard."""
    kind = NoticeKind.PREEMPTION
    return Notice(id=f"command-{name}", kind=kind, source="command", received=clock())


def test_road_is_wanted_when_there_is_a_program() -> None:
    """It stands beside any cloud, under a section of its own."""
    assert ROADS["command"] is ROAD
    assert ROAD.cloud is None
    assert ROAD.wanted(CommandConfig()) == {}
    assert ROAD.edges == ("command",)
    assert ROAD.wanted(CommandConfig(argv=("x",))) == {"command": KINDS}


async def test_lines_become_notices_and_withdrawals_when_they_are_printed(
    mouth: Mouth, clock: TurnedClock
) -> None:
    """Each is heard once, in order, while the program runs on."""
    async with hearing(replace(QUICK, argv=mouth.argv), clock) as ears:
        mouth.say('{"id": "a", "window_s": 60}', '{"id": "a", "window_s": 60}', '{"id": "b"}')
        await eventually(lambda: ears.inbox.qsize() >= 2)
        notice = ears.inbox._queue[0]  # type: ignore[attr-defined] # the first, left in its place
        assert (notice.source, notice.kind) == ("command", "preemption")
        assert notice.deadline.boottime_s == clock().boottime_s + 60
        assert ears.heard() == [("a", False), ("b", False)]
        mouth.say('{"id": "a", "withdrawn": true}', '{"id": "c", "withdrawn": true}', '{"id": "d"}')
        await eventually(lambda: ears.inbox.qsize() >= 2)
        assert ears.heard() == [("a", True), ("d", False)]
        assert ears.why == ""


async def test_garbage_makes_blind_and_is_survived_when_a_program_prints_it(
    mouth: Mouth, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Counted line by line, logged once, and the same program is heard on."""
    async with hearing(replace(QUICK, argv=mouth.argv), clock) as ears:
        mouth.say('{"id": "a"}', "Traceback:", "[1]", "x" * (LINE_LIMIT_BYTES + 9), "\udc80")
        await eventually(lambda: ears.count("malformed") >= 4)
        assert "Traceback" in ears.why
        assert len([record for record in caplog.records if "source blind" in record.message]) == 1
        mouth.say("")
        await eventually(lambda: ears.why == "")
        mouth.say('{"kind": "drill"}')
        await eventually(lambda: "drill" in ears.why)
        mouth.say('{"id": "b"}')
        await eventually(lambda: ears.inbox.qsize() >= 2)
        assert ears.heard() == [("a", False), ("b", False)]


async def test_program_is_started_again_when_it_ends(tmp_path: Path, clock: TurnedClock) -> None:
    """What it has told stays in force meanwhile; its last words say why it is blind."""
    starts = tmp_path / "starts"
    argv = script(f"echo >> {starts}", 'echo \'{"id": "a"}\'', "echo no route >&2", "exit 3")
    async with hearing(replace(QUICK, argv=argv), clock) as ears:
        await eventually(lambda: ears.count("ended") >= 3)
        assert ears.heard() == [("a", False)]
        assert ears.why == f"{SHELL} has ended with status 3, saying no route"
        assert starts.stat().st_size >= 3


async def test_program_counts_as_one_that_would_tell_when_it_runs_on_in_silence(
    mouth: Mouth, clock: TurnedClock
) -> None:
    """No sooner than after its limit, so that one that fails at once is never ready."""
    async with hearing(replace(QUICK, argv=mouth.argv, limit_s=0.05), clock) as ears:
        await eventually(lambda: ears.why == "")
        assert ears.count("absent") == 1
        mouth.say('{"id": "a"}')
        await eventually(lambda: ears.inbox.qsize() >= 1)
    silent = script("exit 0")
    async with hearing(replace(QUICK, argv=silent), clock) as ears:
        await eventually(lambda: ears.count("ended") >= 2)
        assert ears.health.keys[KEY].answered is None


async def test_program_is_gone_when_the_source_is_closed(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """With its children."""
    pids = tmp_path / "pids"
    argv = script("sleep 60 &", f"echo $$ $! > {pids}", "echo", "wait")
    async with hearing(replace(QUICK, argv=argv), clock) as ears:
        await eventually(lambda: ears.why == "")
        numbers = [int(pid) for pid in pids.read_text().split()]
    await eventually(lambda: not any(map(lives, numbers)))


async def test_program_is_gone_when_the_source_is_closed_while_it_is_being_ended(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """It has closed its output, was told to end, and takes its time about that."""
    told = tmp_path / "told"
    argv = script(
        f"trap 'echo $$ > {told}.new; mv {told}.new {told}' TERM",
        "exec >&-",
        "sleep 60 2>&- & while :; do wait; done",
    )
    async with hearing(replace(QUICK, argv=argv), clock):
        await eventually(told.exists)
    await eventually(lambda: not lives(int(told.read_text())))


async def test_source_is_blind_with_the_reason_when_the_program_can_not_be_started(
    clock: TurnedClock,
) -> None:
    """It may be mounted later, so it is tried again."""
    config = replace(QUICK, argv=("/nonexistent/tell",))
    for mode in ("lines", "status"):
        async with hearing(replace(config, mode=mode), clock) as ears:
            await eventually(partial(_was_not_started, ears))
            assert ears.why == "/nonexistent/tell can't be started: No such file or directory"


def _was_not_started(ears: Ears) -> bool:
    return ears.count("not_started") >= 3


async def test_notice_of_an_earlier_run_is_taken_back_when_the_program_says_so(
    mouth: Mouth, clock: TurnedClock
) -> None:
    """A restart of the daemon forgets nothing, and tells nothing twice."""
    adopted = [preemption(clock, "a")]
    async with hearing(replace(QUICK, argv=mouth.argv), clock, adopted) as ears:
        mouth.say('{"id": "a"}', '{"id": "a", "withdrawn": true}', '{"id": "b"}')
        await eventually(lambda: ears.inbox.qsize() >= 2)
        assert ears.heard() == [("a", True), ("b", False)]


async def test_loop_goes_on_when_a_program_prints_without_end(clock: TurnedClock) -> None:
    """Its pipe holds it up; what is heard from it stays bounded."""
    async with hearing(replace(QUICK, argv=("yes", '{"id": "a"}')), clock) as ears:
        await eventually(lambda: ears.count("present") > 20)
        turns = 0
        while ears.count("present") < 40:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 20, "other work gets its turn between two lines"
        assert ears.heard() == [("a", False)]
