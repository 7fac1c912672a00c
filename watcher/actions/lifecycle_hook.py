"""Lets an auto-scaling group go on with the instance's end, once the node has had its time.

A hook holds the instance back until it is completed or runs out. It is completed at the deadline,
however early the trainers say that they have saved: others on the node may say nothing, and a hook
that is completed sooner would kill one that has just been told to save. Only a Node that is drained
has nobody left.
"""

from collections.abc import Callable, Mapping
from functools import partial

from watcher.aws.autoscaling import AutoScaling
from watcher.aws.hook import LifecycleHook
from watcher.aws.limited_calls import LimitedCalls
from watcher.errors import ActionRefused, ActionRetryable, ActionWaiting, AwsCallFailed
from watcher.notice import Deadline, Moment, Notice, Standing, Urgency, rfc3339
from watcher.state import State

MANAGED_TAG = "reprieve.dev/managed"
"""Key of the tag that a group carries whose hooks are ours to complete."""

HEARTBEAT_S = 10.0
"""Seconds between heartbeats: a third of the shortest time-out that a hook can have. Source: EC2
Auto Scaling API reference, PutLifecycleHook (read 2026-11-30)."""

BEFORE_S = 2.0
"""How long before the deadline the hook is completed, so that a call that fails can be repeated."""


class CompleteLifecycleHook:
    """Keeps a hook waiting by heartbeats until the deadline, then completes it with CONTINUE.

    The earliest deadline of all stops in force counts: a hook does not hold back a Spot
    interruption, whatever the group says. A group without our tag is left to whoever made its hook.

    Args:
        hooks: The hooks that wait, by the id of the notice that told of them.
        calls: Calls to Auto Scaling.
        state: Which notices are in force.
        now: Reads both clocks.
        is_over: Says of a notice whether the node has nothing left to do.
    """

    name = "lifecycle_hook"

    def __init__(
        self,
        hooks: Mapping[str, LifecycleHook],
        calls: AutoScaling,
        state: State,
        now: Callable[[], Moment],
        is_over: Callable[[Notice], bool] = lambda _: False,
    ) -> None:
        self._hooks = hooks
        self._calls = calls
        self._state = state
        self._now = now
        self._is_over = is_over
        self._thread = LimitedCalls[bool]("Auto Scaling", calls.renew)
        self._is_ours: dict[str, bool] = {}
        self._beaten_s: dict[str, float] = {}

    async def run(self, standing: Standing, /) -> str:
        """Complete the hook when it is time; see :class:`base.Action`.

        Raises:
            ActionWaiting: The deadline has not come.
            ActionRetryable: Auto Scaling can't be reached, or is busy.
            ActionRefused: The daemon may not do that; the hook runs out by itself.
        """
        hook = self._hooks.get(standing.notice.id)
        if hook is None:
            # A restarted daemon is in force before its queue has told it of the hook again.
            if not self._is_time(standing):
                raise ActionWaiting("no hook is known to wait so far")
            return "no hook is known to wait"
        instance_id = standing.notice.instance_id or ""
        try:
            if not await self._belongs_to_us(hook.group):
                return f"left alone: group {hook.group} has no tag {MANAGED_TAG}"
            if not self._is_time(standing):
                return await self._wait(standing, hook, instance_id)
            complete = partial(self._calls.complete, hook, instance_id)
            is_done = await self._thread.call(complete)
        except AwsCallFailed as error:
            kind = ActionRefused if error.outcome == "forbidden" else ActionRetryable
            raise kind(str(error)) from error
        return f"completed {hook.name}" if is_done else f"nobody waits for {hook.name} any more"

    async def undo(self, standing: Standing, /) -> str:
        """Forget the hook: it waits until it runs out, or until the group asks again."""
        self._beaten_s.pop(standing.notice.id, None)
        return "the hook is left to run out"

    async def _belongs_to_us(self, group: str) -> bool:
        if group not in self._is_ours:
            ask = partial(self._calls.is_tagged, group, MANAGED_TAG)
            self._is_ours[group] = await self._thread.call(ask)
        return self._is_ours[group]

    async def _wait(self, standing: Standing, hook: LifecycleHook, instance_id: str) -> str:
        """Send a heartbeat if one is due; return when nobody waits, else say until when we do."""
        notice_id, now_s = standing.notice.id, self._now().boottime_s
        until = f"{hook.group} waits until {rfc3339(self._deadline(standing).wall)}"
        if now_s >= self._beaten_s.get(notice_id, 0.0) + HEARTBEAT_S:
            self._beaten_s[notice_id] = now_s
            beat = partial(self._calls.heartbeat, hook, instance_id)
            try:
                is_open = await self._thread.call(beat)
            except AwsCallFailed as error:
                # Without it the hook may run out sooner; it is to be completed all the same.
                raise ActionWaiting(f"{until}, unless its time-out is shorter: {error}") from error
            if not is_open:
                return f"nobody waits for {hook.name} any more"
        raise ActionWaiting(until)

    def _is_time(self, standing: Standing) -> bool:
        is_late = self._now().boottime_s >= self._deadline(standing).boottime_s - BEFORE_S
        return is_late or self._is_over(standing.notice)

    def _deadline(self, standing: Standing) -> Deadline:
        stops = [other for other in self._state.in_force() if other.urgency is Urgency.STOP]
        ends = [other.counts_until for other in (standing, *stops)]
        return min(ends, key=lambda end: end.boottime_s)
