"""The responder under a policy that settings have changed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clocks import TurnedClock
from tests.support.node_actions import NodeActions, node_actions
from tests.support.responding import Desk, Recorded, handled, running
from watcher.notice import Deadline, Notice, NoticeKind, Urgency
from watcher.policy import Policy
from watcher.policy_overrides import Override, overridden


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[NodeActions]:
    """Run the actions on a Node."""
    async with node_actions(tmp_path) as at:
        yield at


def answering(at: NodeActions, policy: Policy) -> Desk:
    """Return a responder with all that there is, under this policy."""
    local = (Recorded("flag_file"), Recorded("signal"))
    return Desk(at.clock, *local, *at.all, state=at.state, policy=policy)


def rebalance(clock: TurnedClock) -> Notice:
    """Return advice."""
    return Notice(id="r", kind=NoticeKind.REBALANCE, source="test", received=clock())


async def test_advice_cordons_and_signals_nobody_when_settings_say_so(at: NodeActions) -> None:
    """For the time that the policy has, and all the rest of it stays undone."""
    actions = ("flag_file", "node_mark", "cordon")
    policy = overridden({NoticeKind.REBALANCE: Override(actions=actions, expires_s=1800)})
    async with running(answering(at, policy)) as desk:
        await handled(desk, rebalance(at.clock))
        outcomes = {name: desk.outcome(name, "r") for name in ("signal", "taint", *actions)}
    assert outcomes == {"signal": None, "taint": None, **dict.fromkeys(actions, "done")}
    assert at.node()["spec"]["unschedulable"] is True
    assert '"expires_at":"2026-11-30T10:35:06Z"' in (at.annotation() or "")
    assert at.state.in_force()[0].urgency is Urgency.ADVISORY


async def test_advice_stops_trainers_when_settings_say_so(at: NodeActions) -> None:
    """The state, and so the flag, has the urgency of the policy."""
    stop = Override(urgency=Urgency.STOP, actions=("flag_file", "signal"))
    async with running(answering(at, overridden({NoticeKind.REBALANCE: stop}))) as desk:
        await handled(desk, rebalance(at.clock))
        assert desk.outcome("signal", "r") == "done"
    assert at.state.in_force()[0].urgency is Urgency.STOP
    assert "unschedulable" not in at.node()["spec"]


async def test_maintenance_is_in_force_earlier_when_its_lead_is_longer(at: NodeActions) -> None:
    """A day before it instead of a quarter of an hour."""
    policy = overridden({NoticeKind.MAINTENANCE: Override(lead_s=86_400)})
    reboot = Notice(
        id="m",
        kind=NoticeKind.MAINTENANCE,
        source="test",
        received=at.clock(),
        deadline=Deadline.after(at.clock(), 80_000),
    )
    async with running(answering(at, policy)) as desk:
        await handled(desk, reboot)
        assert desk.outcome("flag_file", "m") == "done"
