"""Lets auto-scaling groups go on with the end of instances, where the nodes have no rights for it.

The relay has them, and does for a Node what a node with a queue of its own does: heartbeats until
the deadline, then CONTINUE; sooner where the Node says that it is drained. The hook's message stays
in hand until then, so that another relay goes on with it when this one dies; when it does not, or
the queue forgets too soon, the hook runs out.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from watcher.actions.lifecycle_hook import CompleteLifecycleHook
from watcher.aws.autoscaling import AutoScaling
from watcher.aws.hook import LifecycleHook
from watcher.errors import ActionRefused, ActionRetryable, ActionWaiting
from watcher.notice import Deadline, Moment, Notice
from watcher.policy import Policy, stand
from watcher.sources.reading import ForInstance
from watcher.state import State

log = logging.getLogger(__name__)

HOOKS_LIMIT = 1000
"""Most hooks that are kept at a time, each with its message: half of what a relay has in hand at
most, so that they never keep it from receiving a notice. The others run out."""

CALLERS = 8
"""Hooks about which Auto Scaling is asked at the same time, in a scale-in of hundreds."""

LATE_S = 60.0
"""How long after the deadline a call that fails is tried again, in seconds."""

LOOK_EVERY_S = 1.0
"""Seconds between looks at whether it is time for a hook."""


class Hooks:
    """The hooks of a cluster's groups that carry our tag.

    Args:
        calls: Calls to Auto Scaling.
        wait_s: Seconds that an instance is kept; None for the policy's window.
        policy: What each kind of notice means.
        now: Reads both clocks.
        is_drained: Says of an instance whether its node has nothing left to do.
    """

    def __init__(
        self,
        calls: AutoScaling,
        wait_s: float | None,
        policy: Policy,
        now: Callable[[], Moment],
        is_drained: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._wait_s = wait_s
        self._policy = policy
        self._now = now
        self._known = dict[str, LifecycleHook]()

        def is_over(notice: Notice) -> bool:
            return is_drained(notice.instance_id or "")

        self._callers = [
            CompleteLifecycleHook(self._known, calls, State(), now, is_over) for _ in range(CALLERS)
        ]

    def timed(self, told: ForInstance) -> ForInstance:
        """Return the notice; where its hook waits for as long as we say, that is its deadline."""
        if told.hook is None or self._wait_s is None:
            return told
        deadline = Deadline.after(told.notice.received, self._wait_s)
        return replace(told, notice=replace(told.notice, deadline=deadline))

    async def see_off(self, told: ForInstance) -> None:
        """Keep the hook of a notice, if it has one, and complete it; returns when that is over."""
        notice = replace(told.notice, instance_id=told.instance_id)
        if told.hook is None or notice.id in self._known:
            return
        if len(self._known) >= HOOKS_LIMIT:
            log.warning("hook left to run out %s why=%d are kept already", notice, HOOKS_LIMIT)
            return
        self._known[notice.id] = told.hook
        try:
            what = await self._kept(self._callers[hash(notice.id) % CALLERS], told)
        finally:
            del self._known[notice.id]
        log.info("hook seen off %s instance_id=%s what=%s", notice, told.instance_id, what)

    async def _kept(self, caller: CompleteLifecycleHook, told: ForInstance) -> str:
        standing = stand(replace(told.notice, instance_id=told.instance_id), self._policy)
        until_s = standing.counts_until.boottime_s + LATE_S
        try:
            while True:
                try:
                    return await caller.run(standing)
                except ActionWaiting:
                    pass
                except ActionRetryable as error:
                    if self._now().boottime_s >= until_s:
                        return f"given up: {error}"
                except ActionRefused as error:
                    return f"left to run out: {error}"
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            await caller.undo(standing)
