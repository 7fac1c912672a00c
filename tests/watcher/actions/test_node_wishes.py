"""What is done to the Node for a time: undone when that is over, also by the next daemon."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.kube.refusals import internal
from tests.support.clocks import eventually
from tests.support.node_actions import NodeActions, node_actions
from tests.support.standings import in_force
from watcher.actions import node_desk
from watcher.notice import Deadline, Notice, NoticeKind, Standing
from watcher.policy import stand

HOUR_S = 3600.0
ADVICE = in_force("advice", NoticeKind.REBALANCE, left_s=600)
SPOT = in_force("spot-1", left_s=7200)
EXPIRES = '"expires_at":"2026-11-30T11:05:06Z"'


@pytest.fixture
async def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NodeActions]:
    """Run the actions on a Node; it is looked all the time whether something is over."""
    monkeypatch.setattr(node_desk, "EXPIRY_LOOK_S", 0.001)
    monkeypatch.setattr(node_desk, "_LONGEST_DELAY_S", 0.001)
    async with node_actions(tmp_path, limit_s=0.5) as at:
        yield at


@asynccontextmanager
async def expiring(at: NodeActions) -> AsyncIterator[None]:
    """Let the desk see to what is over."""
    keeping = asyncio.create_task(at.desk.keep_expiring())
    try:
        yield
        assert not keeping.done()
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


def restarted(at: NodeActions, boot_id: str = "boot-1") -> NodeActions:
    """Return the actions of a daemon that begins now, with nothing in force."""
    again = NodeActions(at.own, boot_id)
    again.clock.moment = at.clock.moment
    return again


def heard_anew(at: NodeActions) -> Standing:
    """Return the advice as a daemon has it that hears it for the first time."""
    return stand(Notice(id="advice", kind=NoticeKind.REBALANCE, source="test", received=at.clock()))


async def test_node_is_as_it_was_when_an_hour_of_advice_is_over(at: NodeActions) -> None:
    """The notice stays in force. Until then the API server is not asked once."""
    before = at.node()
    said = await at.run(ADVICE, at.mark, at.cordon)
    assert said[1] == "cordoned node-a, until 2026-11-30T11:05:06Z"
    calls = len(at.own.calls())
    async with expiring(at):
        at.clock.turn(HOUR_S - 1)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(at.own.calls()) == calls
        at.clock.turn(1)
        await eventually(lambda: at.node() == before)
    assert ADVICE in at.state.in_force()
    assert at.condition() is None


async def test_late_retry_cordons_nothing_when_the_time_is_over(at: NodeActions) -> None:
    """Nor does the start of another daemon, and it writes no Event."""
    before = at.node()
    await at.run(ADVICE, at.mark, at.cordon)
    at.clock.turn(HOUR_S)
    told = len(at.cluster.events())
    again = restarted(at)
    said = await again.run(ADVICE, again.mark, again.cordon)
    assert said == ["node-a is not marked any more", "not wanted any more: uncordoned node-a"]
    assert at.node() == before
    assert at.condition() is None
    assert len(at.cluster.events()) == told


async def test_cordon_stays_when_a_stronger_notice_has_come(at: NodeActions) -> None:
    """It is the stronger one's then, until that is withdrawn."""
    before = at.node()
    await at.run(ADVICE, at.cordon)
    await at.run(SPOT, at.cordon, at.taint)
    assert '"expires_at":null' in (at.annotation() or "")
    async with expiring(at):
        at.clock.turn(HOUR_S)
        await eventually(lambda: not at.desk._wishes.is_overdue)
    assert at.node()["spec"]["unschedulable"] is True
    await at.undo(SPOT, at.cordon, at.taint)
    assert at.node() == before


async def test_time_goes_on_when_the_stronger_notice_is_withdrawn_before(at: NodeActions) -> None:
    """The advice is as old as it was."""
    before = at.node()
    await at.run(ADVICE, at.cordon)
    await at.run(SPOT, at.cordon)
    at.clock.turn(HOUR_S / 2)
    await at.undo(SPOT, at.cordon)
    assert at.node()["spec"]["unschedulable"] is True
    async with expiring(at):
        at.clock.turn(HOUR_S / 2)
        await eventually(lambda: at.node() == before)


async def test_time_is_counted_from_the_first_hearing_when_the_daemon_was_restarted(
    at: NodeActions,
) -> None:
    """What is on the Node says when, though the notice is new to this one."""
    before = at.node()
    await at.run(ADVICE, at.cordon)
    assert EXPIRES in (at.annotation() or "")
    at.clock.turn(HOUR_S / 2)
    again = restarted(at)
    await again.run(heard_anew(again), again.cordon)
    assert EXPIRES in (again.annotation() or "")
    async with expiring(again):
        again.clock.turn(HOUR_S / 2)
        await eventually(lambda: at.node() == before)


@pytest.mark.parametrize(("boot_id", "name"), [("boot-2", "advice"), ("boot-1", "other")])
async def test_time_begins_anew_when_another_boot_or_another_notice_has_begun(
    at: NodeActions, boot_id: str, name: str
) -> None:
    """What is on the Node is about neither."""
    await at.run(ADVICE, at.cordon)
    at.clock.turn(HOUR_S / 2)
    later = Deadline.after(at.clock(), HOUR_S)
    again = restarted(at, boot_id)
    other = stand(Notice(id=name, kind=NoticeKind.REBALANCE, source="test", received=at.clock()))
    await again.run(other, again.cordon)
    assert again.desk.end_of(other) == later


async def test_node_is_freed_in_time_when_nobody_wants_it_any_more_after_a_restart(
    at: NodeActions,
) -> None:
    """The settings were changed meanwhile, or the run directory is new."""
    before = at.node()
    await at.run(ADVICE, at.cordon)
    again = restarted(at)
    await again.desk.keep()
    async with expiring(again):
        again.clock.turn(HOUR_S)
        await eventually(lambda: at.node() == before)


async def test_node_of_a_stop_is_never_freed_by_time(at: NodeActions) -> None:
    """Whether it is in force is for its source to say, also after a restart."""
    await at.run(SPOT, at.cordon)
    again = restarted(at)
    await again.desk.keep()
    again.clock.turn(100 * HOUR_S)
    assert not again.desk._wishes.is_overdue
    assert at.node()["spec"]["unschedulable"] is True


async def test_node_is_freed_late_when_the_api_server_was_away(at: NodeActions) -> None:
    """It is asked again until it answers."""
    before = at.node()
    await at.run(ADVICE, at.cordon)
    at.own.server.faults.add(internal("etcd"))
    async with expiring(at):
        at.clock.turn(HOUR_S)
        tries = len(at.own.calls())
        await eventually(lambda: len(at.own.calls()) > tries + 1)
        at.own.server.faults.lift()
        await eventually(lambda: at.node() == before)


async def test_what_was_left_is_read_only_where_it_matters(at: NodeActions) -> None:
    """A stop costs one read and one patch, as ever."""
    await at.run(SPOT, at.mark)
    assert [call.split()[0] for call in at.own.calls()[:2]] == ["get", "patch"]
