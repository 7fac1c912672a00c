"""Notices far ahead: when they come in force, and what takes them back before."""

import logging
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.responding import Desk, handled, running
from watcher import responder
from watcher.notice import Deadline, Notice, NoticeKind

DAYS_S = 14 * 86_400.0
LEAD_S = 900.0


@pytest.fixture
async def desk(clock: TurnedClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    """A responder that looks at its plan all the time."""
    monkeypatch.setattr(responder, "PLAN_LOOK_S", 0.001)
    async with running(Desk(clock)) as desk:
        yield desk


def reboot(desk: Desk, name: str = "reboot", in_s: float = DAYS_S) -> Notice:
    """Build a maintenance that is announced long before."""
    return Notice(
        id=name,
        kind=NoticeKind.MAINTENANCE,
        source="test",
        received=desk.clock(),
        deadline=Deadline.after(desk.clock(), in_s),
    )


async def test_far_notice_does_nothing_when_it_is_announced(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """Known, logged and counted, but nobody is stopped two weeks ahead; it is handled, too."""
    with caplog.at_level(logging.INFO):
        await handled(desk, reboot(desk), reboot(desk))
    assert desk.flag.calls == desk.signal.calls == []
    assert desk.acknowledged == ["reboot"]
    assert desk.state.in_force() == ()
    verdicts = [r.getMessage().split()[1] for r in caplog.records if r.name == "watcher.responder"]
    assert verdicts == ["planned", "duplicate"]


async def test_far_notice_is_acknowledged_only_when_it_is_on_disk(desk: Desk) -> None:
    """Until then the message that told of it is all that a restarted daemon would have."""
    desk.may_keep.clear()
    desk.inbox.put_nowait(reboot(desk))
    desk.inbox.put_nowait(desk.notice())
    await eventually(lambda: desk.flag.calls == ["run spot"])
    assert desk.acknowledged == []
    desk.may_keep.set()
    await handled(desk)
    assert desk.acknowledged == desk.kept == ["reboot", "spot"]


async def test_far_notice_acts_once_when_its_lead_begins(desk: Desk) -> None:
    """Not a moment before, and also if the clock jumped there, as it does in a suspend."""
    await handled(desk, reboot(desk))
    desk.clock.turn(DAYS_S - LEAD_S - 1)
    await handled(desk, desk.notice("spot"))
    assert desk.flag.calls == ["run spot"]
    desk.clock.turn(1)
    await eventually(lambda: desk.signal.calls == ["run spot", "run reboot"])
    assert desk.flag.calls == ["run spot", "run reboot"]
    assert desk.state.planned() == ()


async def test_plans_come_in_force_one_by_one_when_there_are_several(desk: Desk) -> None:
    """Each at its own time, whatever the order in which they were heard."""
    await handled(desk, reboot(desk, "late", 2 * DAYS_S), reboot(desk, "early"))
    desk.clock.turn(DAYS_S)
    await eventually(lambda: desk.flag.calls)
    assert [standing.notice.id for standing in desk.state.planned()] == ["late"]
    desk.clock.turn(DAYS_S)
    await eventually(lambda: desk.flag.calls == ["run early", "run late"])


async def test_time_to_an_action_counts_from_when_the_notice_was_due_when_it_was_planned(
    desk: Desk,
) -> None:
    """Two weeks in a histogram of milliseconds would hide all that is slow."""
    await handled(desk, reboot(desk))
    desk.clock.turn(DAYS_S - LEAD_S + 0.5)
    await eventually(lambda: desk.outcome("flag_file", "reboot") == "done")
    sum_s = desk.metrics.registry.get_sample_value(
        "reprieve_received_to_action_seconds_sum", {"action": "flag_file"}
    )
    assert sum_s == pytest.approx(0.5)


async def test_plan_is_dropped_when_it_is_taken_back(desk: Desk) -> None:
    """There is nothing to undo, its time passes without effect, and the disk knows of it."""
    notice = reboot(desk)
    await handled(desk, notice, replace(notice, withdrawn=True, outcome="over"))
    assert desk.kept == ["reboot", "reboot"]
    desk.clock.turn(2 * DAYS_S)
    await handled(desk, desk.notice("spot"))
    assert desk.flag.calls == desk.signal.calls == ["run spot"]
    (past,) = [entry for entry in desk.state.entries() if entry.withdrawn]
    assert (past.standing.notice.id, past.outcome) == ("reboot", "over")


async def test_retry_of_one_plan_delays_no_other_when_its_action_hangs(desk: Desk) -> None:
    """Each planned notice has its own task."""
    desk.flag.may_finish.clear()
    await handled(desk, reboot(desk, "a"), reboot(desk, "b", DAYS_S + 100))
    desk.clock.turn(DAYS_S)
    await eventually(lambda: desk.flag.calls == ["run a", "run b"])
    desk.flag.may_finish.set()
