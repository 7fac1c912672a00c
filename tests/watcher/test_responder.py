"""The responder: once a notice, all actions side by side, and none held up by another."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock, eventually
from tests.support.responding import Desk, Recorded, handled, running
from watcher.actions.flag_file import FLAG_NAME, FlagFile
from watcher.actions.flag_v1 import Writer
from watcher.metrics import Metrics
from watcher.notice import Notice, NoticeKind, Standing
from watcher.policy import POLICY
from watcher.responder import Means, Responder
from watcher.state import State


@pytest.fixture
async def desk(clock: TurnedClock) -> AsyncIterator[Desk]:
    """A responder with two recorded actions."""
    async with running(Desk(clock)) as desk:
        yield desk


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


async def test_withdrawal_does_nothing_when_the_notice_was_announced_anew(desk: Desk) -> None:
    """One step may bring both under one id; what was said last is what counts."""
    first = desk.notice()
    desk.clock.turn(1)
    await handled(desk, first, desk.notice(), replace(first, withdrawn=True))
    assert desk.flag.calls == desk.signal.calls == ["run spot"]
    assert [one.notice.id for one in desk.state.in_force()] == ["spot"]


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
    parts = (tmp_path, Writer("n", "b"), state, metrics, clock)
    flag = await asyncio.to_thread(OnADeadFileSystem, *parts)
    desk = Desk(clock, flag, signalled)
    desk.responder = Responder(
        Means(POLICY, {flag.name: flag, "signal": signalled}),
        state,
        metrics,
        clock,
        desk.afterwards,
    )
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
