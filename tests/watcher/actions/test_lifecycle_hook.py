"""When an auto-scaling hook is kept waiting and when it is completed, Auto Scaling scripted."""

import pytest

from tests.support.auto_scaling_group import Group
from tests.support.clocks import TurnedClock
from watcher.actions.lifecycle_hook import HEARTBEAT_S, MANAGED_TAG, CompleteLifecycleHook
from watcher.aws.hook import LifecycleHook
from watcher.errors import ActionRefused, ActionRetryable, ActionWaiting, AwsCallFailed
from watcher.notice import Deadline, Notice, NoticeKind, Standing
from watcher.policy import stand
from watcher.state import State

HOOK = LifecycleHook(group="gpus", name="drain", token="token-1")  # noqa: S106 - not a secret
OVER = AwsCallFailed(
    "ValidationError: No active Lifecycle Action found with token token-1",
    outcome="refused",
    code="ValidationError",
)


class Node:
    """An action with one hook that waits, and what it acts on."""

    def __init__(self, clock: TurnedClock) -> None:
        self.clock, self.state, self.group = clock, State(), Group()
        self.hooks = {"asg": HOOK}
        self.action = CompleteLifecycleHook(self.hooks, self.group, self.state, clock)

    def in_force(self, name: str, kind: NoticeKind, left_s: float | None = None) -> Standing:
        """Put a notice in force."""
        deadline = None if left_s is None else Deadline.after(self.clock(), left_s)
        notice = Notice(
            id=name,
            kind=kind,
            source="aws_sqs",
            received=self.clock(),
            deadline=deadline,
            instance_id="i-1",
        )
        standing = stand(notice)
        self.state.admit(standing, self.clock())
        return standing


@pytest.fixture
def node(clock: TurnedClock) -> Node:
    """A node of a group that is ours."""
    return Node(clock)


async def test_hook_waits_by_heartbeats_and_is_completed_when_the_deadline_comes(
    node: Node,
) -> None:
    """One heartbeat per interval however often the action is asked; the tag is asked for once."""
    standing = node.in_force("asg", NoticeKind.TERMINATION)
    for _ in range(3):
        with pytest.raises(ActionWaiting, match="gpus waits until 2026-11-30T10:05:36Z"):
            await node.action.run(standing)
    node.clock.turn(HEARTBEAT_S)
    with pytest.raises(ActionWaiting):
        await node.action.run(standing)
    node.clock.turn(30 - HEARTBEAT_S)
    assert await node.action.run(standing) == "completed drain"
    assert node.group.calls == [
        f"tag gpus {MANAGED_TAG}",
        "heartbeat drain i-1",
        "heartbeat drain i-1",
        "complete drain i-1",
    ]


async def test_hook_is_completed_at_the_spot_deadline_when_that_comes_first(node: Node) -> None:
    """A hook does not hold back an interruption; what the group says can't make it later."""
    standing = node.in_force("asg", NoticeKind.TERMINATION, left_s=3600)
    node.in_force("spot", NoticeKind.PREEMPTION, left_s=120)
    node.in_force("advice", NoticeKind.REBALANCE, left_s=1)
    with pytest.raises(ActionWaiting, match="10:07:06Z"):
        await node.action.run(standing)
    node.clock.turn(120)
    assert await node.action.run(standing) == "completed drain"


async def test_hook_is_left_alone_when_its_group_has_not_our_tag(node: Node) -> None:
    """Another controller made it, and completes it when its own work is done."""
    node.group.is_ours = False
    standing = node.in_force("asg", NoticeKind.TERMINATION)
    assert "left alone" in await node.action.run(standing)
    assert node.group.calls == [f"tag gpus {MANAGED_TAG}"]


async def test_waiting_ends_when_nobody_waits_any_more(node: Node) -> None:
    """Completed by somebody, or run out: that is an end, not an error to try again."""
    node.group.is_open = False
    standing = node.in_force("asg", NoticeKind.TERMINATION)
    assert "nobody waits" in await node.action.run(standing)


async def test_hook_is_still_completed_when_heartbeats_fail(node: Node) -> None:
    """The action says that the time-out may come sooner, and goes on to the deadline."""
    standing = node.in_force("asg", NoticeKind.TERMINATION)
    with pytest.raises(ActionWaiting):
        await node.action.run(standing)
    node.clock.turn(HEARTBEAT_S)
    node.group.fails_with = AwsCallFailed("AccessDenied: no", outcome="forbidden")
    with pytest.raises(ActionWaiting, match="unless its time-out is shorter: AccessDenied"):
        await node.action.run(standing)
    node.clock.turn(30)
    node.group.fails_with = None
    assert await node.action.run(standing) == "completed drain"


@pytest.mark.parametrize(
    ("outcome", "error"), [("forbidden", ActionRefused), ("timeout", ActionRetryable)]
)
async def test_completing_is_tried_again_only_when_that_can_help(
    node: Node, outcome: str, error: type[Exception]
) -> None:
    """A missing permission will still be missing in a second."""
    standing = node.in_force("asg", NoticeKind.TERMINATION)
    node.clock.turn(60)
    node.group.fails_with = AwsCallFailed("no", outcome=outcome)
    with pytest.raises(error):
        await node.action.run(standing)


async def test_action_waits_for_the_queue_when_the_hook_is_not_known_yet(node: Node) -> None:
    """A restarted daemon has the notice from its flag, and hears of the hook a little later."""
    standing = node.in_force("asg", NoticeKind.TERMINATION)
    hook = node.hooks.pop("asg")
    with pytest.raises(ActionWaiting, match="no hook is known"):
        await node.action.run(standing)
    node.hooks["asg"] = hook
    node.clock.turn(30)
    assert await node.action.run(standing) == "completed drain"


async def test_action_is_done_when_no_hook_ever_comes(node: Node) -> None:
    """The metadata service tells of the group's wish, but of no hook."""
    standing = node.in_force("imds", NoticeKind.TERMINATION)
    node.clock.turn(30)
    assert await node.action.run(standing) == "no hook is known to wait"
    assert node.group.calls == []
