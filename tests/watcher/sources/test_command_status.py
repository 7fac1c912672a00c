"""Notices from a program whose exit status is polled: what each status says, and what none says."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.told_by_program import SHELL, Polled, hearing
from watcher.notice import Notice, NoticeKind
from watcher.program import LINE_LIMIT_BYTES
from watcher.sources.command import ABSENCES_TO_WITHDRAW
from watcher.sources.command_config import CommandConfig

QUICK = CommandConfig(interval_s=0.01, limit_s=20.0)


@pytest.fixture
def polled(tmp_path: Path) -> Polled:
    """Return a program that ends as it is told to."""
    return Polled(tmp_path)


def script(*lines: str) -> tuple[str, ...]:
    """Return a program of these lines."""
    return (SHELL, "-c", "\n".join(lines))


def preemption(clock: TurnedClock, name: str = "preemption") -> Notice:
    """Build a notice that an earlier run has heard."""
    kind = NoticeKind.PREEMPTION
    return Notice(id=f"command-{name}", kind=kind, source="command", received=clock())


async def test_status_tells_of_a_notice_and_of_its_end_when_it_is_polled(
    polled: Polled, clock: TurnedClock
) -> None:
    """0 is one, and three times 1 is none."""
    config = replace(QUICK, argv=polled.argv, mode="status", kind="shutdown", window_s=30.0)
    async with hearing(config, clock) as ears:
        await polled.asked(2)
        assert (ears.heard(), ears.why) == ([], "")
        polled.answers(0)
        await eventually(lambda: ears.inbox.qsize() >= 1)
        await polled.asked(2)
        assert ears.heard() == [("shutdown", False)]
        absent = ears.count("absent")
        polled.answers(1)
        await eventually(lambda: ears.inbox.qsize() >= 1)
        assert ears.heard() == [("shutdown", True)]
        assert ears.count("present") >= 3 + ABSENCES_TO_WITHDRAW - 1
        await eventually(lambda: ears.count("absent") > absent)


async def test_status_withdraws_nothing_when_it_is_another(
    polled: Polled, clock: TurnedClock
) -> None:
    """A failure is unknown: it makes blind, and breaks a run of ones."""
    config = replace(QUICK, argv=script("exit 127"), mode="status")
    async with hearing(config, clock, [preemption(clock)]) as ears:
        await eventually(lambda: ears.count("exit_status") >= 9)
        assert ears.heard() == []
        assert "status 127" in ears.why
    count = polled.runs
    argv = script(f"echo >> {count}", f"test $(($(wc -l < {count}) % 3)) = 0 && exit 2", "exit 1")
    async with hearing(replace(config, argv=argv), clock, [preemption(clock)]) as ears:
        await eventually(lambda: ears.count("exit_status") >= 4)
        assert ears.heard() == []


async def test_first_line_adds_to_the_notice_when_the_status_is_0(
    polled: Polled, clock: TurnedClock
) -> None:
    """Its deadline and its id; another id is another notice, and replaces the first."""
    polled.answers(0, '{"id": "a", "deadline": "2026-11-30T10:07:06Z"}')
    async with hearing(replace(QUICK, argv=polled.argv, mode="status"), clock) as ears:
        await eventually(lambda: ears.inbox.qsize() >= 1)
        notice = ears.inbox.get_nowait()
        assert notice.deadline is not None
        assert (notice.id, notice.deadline.left_s(clock())) == ("command-a", 120)
        polled.answers(0, '{"id": "b"}')
        await eventually(lambda: ears.inbox.qsize() >= 2)
        assert ears.heard() == [("b", False), ("a", True)]
        polled.answers(0, '{"id": "b", "withdrawn": true}')
        await eventually(lambda: "says the opposite" in ears.why)
        assert ears.heard() == []


@pytest.mark.parametrize("words", ["now!", "{", '{"kind": "drill"}', "x" * (LINE_LIMIT_BYTES + 1)])
async def test_notice_is_heard_all_the_same_when_its_words_make_no_sense(
    polled: Polled, clock: TurnedClock, words: str
) -> None:
    """The status alone says that there is one."""
    polled.answers(0, words)
    async with hearing(replace(QUICK, argv=polled.argv, mode="status"), clock) as ears:
        await eventually(lambda: ears.inbox.qsize() >= 1)
        notice = ears.inbox.get_nowait()
    assert (notice.id, notice.kind) == ("command-preemption", "preemption")
    assert notice.detail["malformed"].startswith("line: ")


async def test_run_is_ended_and_unknown_when_it_takes_too_long(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """Also one that has printed a notice and does not end: its status is what counts."""
    pids = tmp_path / "pids"
    argv = script(f"echo $$ >> {pids}", 'echo \'{"id": "a"}\'', "exec sleep 60")
    config = replace(QUICK, argv=argv, mode="status", limit_s=0.2)
    async with hearing(config, clock, [preemption(clock)]) as ears:
        await eventually(lambda: ears.count("timeout") >= 2)
        assert ears.heard() == []
        assert ears.why == f"{SHELL} has not ended within 0.2 s"
        for pid in pids.read_text().split()[:2]:
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid), 0)
