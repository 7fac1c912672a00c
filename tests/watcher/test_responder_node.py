"""The responder with the actions on the Node: an API server that is away holds up nobody."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.faults import Trouble
from tests.fakes.kube.refusals import Refusal, internal
from tests.support.clocks import TurnedClock, eventually
from tests.support.node_actions import NodeActions, node_actions
from tests.support.responding import Desk, Recorded, handled, running

ON_NODE = ("node_mark", "cordon", "taint", "lb_exclusion")


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[NodeActions]:
    """Run the actions on a Node; an answer is waited for only shortly."""
    async with node_actions(tmp_path, limit_s=0.2) as at:
        yield at


@pytest.fixture
def clock() -> TurnedClock:
    """A clock that stands still."""
    return TurnedClock()


@pytest.fixture
async def desk(at: NodeActions, clock: TurnedClock) -> AsyncIterator[Desk]:
    """Answer notices with all that there is."""
    local = (Recorded("flag_file"), Recorded("signal"))
    async with running(Desk(clock, *local, *at.all, state=at.state)) as desk:
        yield desk


@pytest.mark.parametrize("trouble", ["hang", "reset", "500", "away"])
async def test_trainers_are_told_while_the_api_server_is_away(
    at: NodeActions, desk: Desk, trouble: str
) -> None:
    """Flag and signal are done before anything of the Node is; that follows when it is back."""
    faults: dict[str, Refusal | Trouble] = {
        "hang": Trouble.HANG,
        "reset": Trouble.RESET,
        "500": internal("etcd"),
    }
    if trouble == "away":
        await at.own.server.away()
    else:
        at.own.server.faults.add(faults[trouble])
    desk.inbox.put_nowait(desk.notice())
    await eventually(lambda: desk.outcome("flag_file") == desk.outcome("signal") == "done")
    assert {desk.outcome(name) for name in ON_NODE} <= {None, "retrying"}
    await eventually(lambda: {desk.outcome(name) for name in ON_NODE} == {"retrying"})
    if trouble == "away":
        await at.own.server.back()
    else:
        at.own.server.faults.lift()
    await eventually(lambda: {desk.outcome(name) for name in ON_NODE} == {"done"})
    assert at.node()["spec"]["unschedulable"] is True


async def test_node_is_given_up_when_the_api_server_stays_away_until_the_deadline(
    at: NodeActions, desk: Desk, clock: TurnedClock
) -> None:
    """And the notice counts as answered."""
    at.own.server.faults.add(internal("etcd"))
    desk.inbox.put_nowait(desk.notice(left_s=60))
    await eventually(lambda: {desk.outcome(name) for name in ON_NODE} == {"retrying"})
    clock.turn(61)
    await eventually(lambda: {desk.outcome(name) for name in ON_NODE} == {"given_up"})
    await eventually(lambda: desk.acknowledged == ["spot"])


async def test_withdrawn_notice_leaves_the_node_as_it_was_when_the_server_was_away(
    at: NodeActions, desk: Desk
) -> None:
    """Withdrawn while it was away, or while it was there: undone as soon as it is back."""
    before = at.node()
    notice = desk.notice()
    await handled(desk, notice)
    assert at.node() != before
    at.own.server.faults.add(Trouble.RESET)
    withdrawal = type(notice)(
        id=notice.id,
        kind=notice.kind,
        source=notice.source,
        received=notice.received,
        withdrawn=True,
    )
    desk.inbox.put_nowait(withdrawal)
    await eventually(lambda: {desk.outcome(name) for name in ON_NODE} == {"retrying"})
    at.own.server.faults.lift()
    await eventually(lambda: {desk.outcome(name) for name in ON_NODE} == {"undone"})
    assert at.node() == before
