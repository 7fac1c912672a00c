"""The responder: once a notice, all actions side by side, and none held up by another."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from watcher import responder as responder_module
from watcher.actions.base import Action
from watcher.actions.flag_file import FLAG_NAME, FlagFile
from watcher.actions.flag_v1 import Writer
from watcher.errors import ActionError, ActionRefused, ActionRetryable
from watcher.metrics import Metrics
from watcher.notice import Deadline, Notice, NoticeKind, Standing
from watcher.responder import LEAST_RETRY_S, Responder
from watcher.state import ActionRecord, State


class Recorded:
    """An action that notes its calls, and fails or hangs as told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[str] = []
        self.fails_with: ActionError | None = None
        self.may_finish = asyncio.Event()
        self.may_finish.set()

    async def run(self, standing: Standing, /) -> str:
        """Note it."""
        return await self._note("run", standing)

    async def undo(self, standing: Standing, /) -> str:
        """Note it."""
        return await self._note("undo", standing)

    async def _note(self, what: str, standing: Standing) -> str:
        self.calls.append(f"{what} {standing.notice.id}")
        await self.may_finish.wait()
        if self.fails_with is not None:
            raise self.fails_with
        return "ok"


class Desk:
    """A running responder with two recorded actions, or with others given."""

    def __init__(self, clock: TurnedClock, *actions: Action) -> None:
        self.clock = clock
        self.flag, self.signal = Recorded("flag_file"), Recorded("signal")
        chosen = actions or (self.flag, self.signal)
        self.state, self.metrics = State(), Metrics()
        by_name = {action.name: action for action in chosen}
        self.responder = Responder(by_name, self.state, self.metrics, clock)
        self.inbox: asyncio.Queue[Notice] = asyncio.Queue()

    def notice(self, name: str = "spot", *, left_s: float = 120) -> Notice:
        """Build a stop notice."""
        return Notice(
            id=name,
            kind=NoticeKind.PREEMPTION,
            source="test",
            received=self.clock(),
            deadline=Deadline.after(self.clock(), left_s),
        )

    def record(self, action: str, notice_id: str = "spot") -> ActionRecord | None:
        """Return what an action has come to for a notice."""
        for entry in self.state.entries():
            if entry.standing.notice.id == notice_id:
                return entry.actions.get(action)
        return None

    def outcome(self, action: str, notice_id: str = "spot") -> str | None:
        """Return the outcome of it."""
        record = self.record(action, notice_id)
        return record.outcome if record else None


@asynccontextmanager
async def running(desk: Desk) -> AsyncIterator[Desk]:
    """Let the responder answer its inbox; a bug in it fails the test."""
    task = asyncio.create_task(desk.responder.run(desk.inbox))
    try:
        yield desk
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def desk(clock: TurnedClock) -> AsyncIterator[Desk]:
    """A responder with two recorded actions."""
    async with running(Desk(clock)) as desk:
        yield desk


async def handled(desk: Desk, *notices: Notice) -> None:
    """Put the notices into the inbox and wait until all is done about them."""
    for notice in notices:
        desk.inbox.put_nowait(notice)
    async with asyncio.timeout(20):
        await desk.inbox.join()


async def test_stop_notice_runs_flag_and_signal_when_it_arrives(desk: Desk) -> None:
    """Both are done, counted and measured from the bytes of the notice."""
    notice = desk.notice()
    desk.clock.turn(0.25)
    await handled(desk, notice)
    assert (desk.flag.calls, desk.signal.calls) == (["run spot"], ["run spot"])
    assert (desk.outcome("flag_file"), desk.outcome("signal")) == ("done", "done")
    sample = desk.metrics.registry.get_sample_value
    labels = {"action": "flag_file"}
    assert sample("reprieve_received_to_action_seconds_sum", labels) == 0.25
    assert notice.deadline is not None
    deadline = sample("reprieve_notice_deadline_timestamp_seconds")
    assert deadline == notice.deadline.wall.timestamp()


async def test_advice_writes_the_flag_and_signals_nobody_when_it_comes_alone(desk: Desk) -> None:
    """A rebalance recommendation never ends a process."""
    advice = Notice(id="r", kind=NoticeKind.REBALANCE, source="test", received=desk.clock())
    await handled(desk, advice)
    assert (desk.flag.calls, desk.signal.calls) == (["run r"], [])


async def test_duplicate_is_counted_and_dropped_when_its_id_is_in_force(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """The second message leaves a line and a count, and no second signal."""
    with caplog.at_level(logging.INFO):
        await handled(desk, desk.notice(), desk.notice())
    assert desk.signal.calls == ["run spot"]
    verdicts = [
        r.getMessage().split()[1] for r in caplog.records if "notice " in r.getMessage()[:7]
    ]
    assert verdicts == ["admitted", "duplicate"]
    counted = desk.metrics.notices.labels("preemption", "duplicate")
    assert counted._value.get() == 1


async def test_withdrawal_undoes_every_action_when_the_notice_is_in_force(desk: Desk) -> None:
    """Nothing is in force afterwards, and the entry is kept as past."""
    notice = desk.notice()
    await handled(desk, notice)
    await handled(desk, replace(notice, withdrawn=True))
    assert desk.flag.calls == desk.signal.calls == ["run spot", "undo spot"]
    assert desk.state.in_force() == ()
    assert desk.outcome("flag_file") == "undone"
    deadline = desk.metrics.registry.get_sample_value("reprieve_notice_deadline_timestamp_seconds")
    assert deadline == 0


async def test_withdrawal_does_nothing_when_the_notice_is_unknown(desk: Desk) -> None:
    """We undo only what we did."""
    await handled(desk, replace(desk.notice(), withdrawn=True))
    assert desk.flag.calls == []


@pytest.mark.parametrize("stuck", ["flag", "signal"])
async def test_action_is_not_held_up_when_another_hangs(desk: Desk, stuck: str) -> None:
    """Nor is the next notice: each is answered in a task of its own."""
    hanging = desk.flag if stuck == "flag" else desk.signal
    free = desk.signal if stuck == "flag" else desk.flag
    hanging.may_finish.clear()
    desk.inbox.put_nowait(desk.notice("first"))
    desk.inbox.put_nowait(desk.notice("second"))
    await eventually(lambda: desk.outcome(free.name, "second"))
    assert desk.outcome(free.name, "first") == "done"
    assert desk.outcome(hanging.name, "first") is None
    hanging.may_finish.set()
    async with asyncio.timeout(20):
        await desk.inbox.join()
    assert desk.outcome(hanging.name, "first") == "done"


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
    desk.flag.fails_with = ActionRetryable("read-only file system")
    desk.inbox.put_nowait(desk.notice(left_s=60))
    await eventually(lambda: len(desk.flag.calls) >= 2)
    assert desk.outcome("flag_file") == "retrying"
    desk.clock.turn(60)
    await handled(desk)
    assert desk.outcome("flag_file") == "given_up"


async def test_action_is_retried_for_a_while_when_there_was_no_time_from_the_start(
    desk: Desk,
) -> None:
    """A hibernation's deadline is now; one hiccup must not be the end of it."""
    desk.flag.fails_with = ActionRetryable("busy")
    desk.inbox.put_nowait(desk.notice(left_s=0))
    await eventually(lambda: len(desk.flag.calls) >= 2)
    assert desk.outcome("flag_file") == "retrying"
    desk.clock.turn(LEAST_RETRY_S)
    await handled(desk)
    assert desk.outcome("flag_file") == "given_up"


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


async def test_signal_goes_out_when_the_real_flag_writer_hangs(
    clock: TurnedClock, tmp_path: Path
) -> None:
    """A write stuck in the kernel blocks its own thread only, and is completed when it returns."""
    release = threading.Event()

    class OnADeadFileSystem(FlagFile):
        def _write(self, data: bytes) -> str:
            release.wait(20)
            return super()._write(data)

    signalled = Recorded("signal")
    state, metrics = State(), Metrics()
    flag = OnADeadFileSystem(tmp_path, Writer("n", "b"), state, metrics, clock)
    desk = Desk(clock, flag, signalled)
    desk.responder = Responder({flag.name: flag, "signal": signalled}, state, metrics, clock)
    async with running(desk):
        desk.inbox.put_nowait(desk.notice())
        desk.inbox.put_nowait(desk.notice("next"))
        await eventually(lambda: signalled.calls == ["run spot", "run next"])
        assert not (tmp_path / FLAG_NAME).exists()
        release.set()
        await handled(desk)
    content = json.loads((tmp_path / FLAG_NAME).read_text())
    assert (content["id"], content["also"]) == ("spot", ["next"])


async def test_daemon_is_told_when_an_action_has_a_bug(clock: TurnedClock) -> None:
    """An unknown exception is not retried blindly: it ends the daemon, which starts afresh."""

    class Buggy(Recorded):
        async def run(self, standing: Standing, /) -> str:
            raise TypeError(standing.notice.id)

    desk = Desk(clock, Buggy("flag_file"))
    desk.inbox.put_nowait(desk.notice())
    with pytest.raises(BaseExceptionGroup) as caught:
        await desk.responder.run(desk.inbox)
    assert caught.group_contains(TypeError)
