"""The responder when actions fail: how long each is tried again, and what is shown meanwhile."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.responding import Desk, handled, running
from watcher import responder as responder_module
from watcher.errors import ActionRefused, ActionRetryable
from watcher.responder import LEAST_RETRY_S


@pytest.fixture
async def desk(clock: TurnedClock) -> AsyncIterator[Desk]:
    """A responder with two recorded actions."""
    async with running(Desk(clock)) as desk:
        yield desk


@pytest.mark.parametrize("failing", ["flag", "signal"])
async def test_action_is_retried_alone_when_it_fails(desk: Desk, failing: str) -> None:
    """The other is done once; the failing one is shown as retrying until it works."""
    broken = desk.flag if failing == "flag" else desk.signal
    sound = desk.signal if failing == "flag" else desk.flag
    broken.fails_with = ActionRetryable("no space left")
    desk.inbox.put_nowait(desk.notice())
    await eventually(lambda: len(broken.calls) >= 3)
    record = desk.record(broken.name)
    assert record is not None
    assert (record.outcome, record.what) == ("retrying", "no space left")
    broken.fails_with = None
    await handled(desk)
    assert desk.outcome(broken.name) == "done"
    assert sound.calls == ["run spot"]
    counted = desk.metrics.actions.labels(broken.name, "retrying")
    assert counted._value.get() == len(broken.calls) - 1


async def test_action_is_given_up_when_the_deadline_has_passed(desk: Desk) -> None:
    """After the deadline there is nothing left to save, and the log says what failed."""
    desk.signal.fails_with = ActionRetryable("no pid file")
    desk.inbox.put_nowait(desk.notice(left_s=60))
    await eventually(lambda: len(desk.signal.calls) >= 2)
    assert desk.outcome("signal") == "retrying"
    desk.clock.turn(60)
    await handled(desk)
    assert desk.outcome("signal") == "given_up"


async def test_flag_is_never_given_up_when_its_notice_is_in_force(desk: Desk) -> None:
    """A cloud may act long after its deadline; the state shows what is in the way until then."""
    desk.flag.fails_with = ActionRetryable("read-only file system")
    desk.inbox.put_nowait(desk.notice(left_s=60))
    await eventually(lambda: len(desk.flag.calls) >= 2)
    desk.clock.turn(3600)
    tried = len(desk.flag.calls)
    await eventually(lambda: len(desk.flag.calls) >= tried + 2)
    record = desk.record("flag_file")
    assert record is not None
    assert (record.outcome, record.what) == ("retrying", "read-only file system")
    desk.flag.fails_with = None
    await handled(desk)
    assert desk.outcome("flag_file") == "done"


async def test_action_is_retried_for_a_while_when_there_was_no_time_from_the_start(
    desk: Desk,
) -> None:
    """A hibernation's deadline is now; one hiccup must not be the end of it."""
    desk.signal.fails_with = ActionRetryable("busy")
    desk.inbox.put_nowait(desk.notice(left_s=0))
    await eventually(lambda: len(desk.signal.calls) >= 2)
    assert desk.outcome("signal") == "retrying"
    desk.clock.turn(LEAST_RETRY_S)
    await handled(desk)
    assert desk.outcome("signal") == "given_up"


async def test_action_is_tried_once_when_it_is_refused(desk: Desk) -> None:
    """What can't help is not repeated."""
    desk.signal.fails_with = ActionRefused("may not")
    await handled(desk, desk.notice())
    assert desk.signal.calls == ["run spot"]
    assert (desk.outcome("signal"), desk.outcome("flag_file")) == ("refused", "done")


async def test_retries_end_when_the_notice_is_withdrawn(desk: Desk) -> None:
    """Nobody signals for a notice that is no more; undoing goes on until it works."""
    notice = desk.notice()
    desk.flag.fails_with = ActionRetryable("busy")
    desk.inbox.put_nowait(notice)
    await eventually(lambda: len(desk.flag.calls) >= 2)
    desk.inbox.put_nowait(replace(notice, withdrawn=True))
    desk.clock.turn(10_000)
    await eventually(lambda: desk.flag.calls.count("undo spot") >= 2)
    runs = desk.flag.calls.count("run spot")
    desk.flag.fails_with = None
    await handled(desk)
    assert desk.outcome("flag_file") == "undone"
    assert desk.flag.calls.count("run spot") == runs


async def test_attempt_counts_as_failed_when_it_takes_too_long(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hang is shown and counted while it lasts, not only when the deadline is over."""
    monkeypatch.setattr(responder_module, "ATTEMPT_LIMIT_S", 0.02)
    desk.flag.may_finish.clear()
    desk.inbox.put_nowait(desk.notice())
    await eventually(lambda: desk.outcome("flag_file") == "retrying")
    record = desk.record("flag_file")
    assert record is not None
    assert "has not come back" in record.what
