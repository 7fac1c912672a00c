"""Answers notices: once each, under the policy, with all actions at the same time.

Actions run side by side and each retries by itself, so that one that fails or hangs delays
neither the others nor the next notice. Nothing optional stands before them.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

from watcher.actions.base import Action
from watcher.errors import ActionDryRun, ActionError, ActionRetryable, ActionWaiting
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice
from watcher.policy import Policy, stand
from watcher.state import ActionRecord, Entry, State

log = logging.getLogger(__name__)

ATTEMPT_LIMIT_S = 5.0
"""Longest an attempt of an action is waited for, in seconds, before it counts as failed."""

LEAST_RETRY_S = 10.0
"""How long a failing action is retried at least, in seconds, however near the deadline is."""

PLAN_LOOK_S = 1.0
"""Seconds between looks at the plan while there is one. The loop's own timers stand still while
the machine is suspended; CLOCK_BOOTTIME does not."""

_NEVER_GIVEN_UP = frozenset({"flag_file"})
"""Actions that are tried for as long as the notice is in force: a deadline is only when the cloud
may act, and trainers that were never told go on until it does."""

_AS_MEANT = ("done", "undone", "waiting", "dry_run")
_FIRST_DELAY_S = 0.05
_LONGEST_DELAY_S = 1.0


@dataclass(frozen=True, slots=True)
class Afterwards:
    """Who else has to know what became of a notice.

    Attributes:
        keep: Has it on disk if nobody would say it again; returns when it is, and never raises.
        acknowledge: Lets its source forget it.
    """

    keep: Callable[[Notice], Coroutine[None, None, None]]
    acknowledge: Callable[[Notice], None]


@dataclass(frozen=True, slots=True)
class Means:
    """What a notice is answered with.

    Attributes:
        policy: What each kind of notice means.
        actions: What can be done here, by name; what else the policy names is left out.
    """

    policy: Policy
    actions: Mapping[str, Action]


class Responder:
    """Decides what each notice means and has it done; the only writer of the state."""

    def __init__(
        self,
        means: Means,
        state: State,
        metrics: Metrics,
        now: Callable[[], Moment],
        afterwards: Afterwards,
    ) -> None:
        self._policy = means.policy
        self._actions = means.actions
        self._afterwards = afterwards
        self._state = state
        self._metrics = metrics
        self._now = now
        self._started = now()
        self._has_plans = asyncio.Event()

    async def run(self, inbox: asyncio.Queue[Notice]) -> None:
        """Respond to the notices of the inbox, each in a task of its own, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_to_the_plan(group))
            while True:
                notice = await inbox.get()
                task = group.create_task(self.respond(notice))
                task.add_done_callback(lambda _: inbox.task_done())

    async def respond(self, notice: Notice) -> None:
        """Put the notice in force and run its actions, or undo them if it was withdrawn.

        Returns when every action is done, refused or given up, and the notice acknowledged, or
        when it is withdrawn before that; a duplicate is only counted, and a notice far ahead only
        planned, which is all there is to be done about it now.
        """
        entry = self._judge(notice)
        if entry is not None:
            await self._act(entry)

    def _judge(self, notice: Notice) -> Entry | None:
        """Change the state as the notice demands; None when there is nothing to do or undo."""
        now, standing = self._now(), stand(notice, self._policy)
        if notice.withdrawn:
            verdict, otherwise = "withdrawn", "unknown"
            entry = self._state.retire(notice, now)
        elif standing.is_due(now):
            verdict, otherwise = "admitted", "duplicate"
            entry = self._state.admit(standing, now)
        else:
            verdict, otherwise = "planned", "duplicate"
            entry = self._state.plan(standing, now)
            self._has_plans.set()
        verdict = verdict if entry else otherwise
        self._metrics.notices.labels(notice.kind, verdict).inc()
        outcome = f" outcome={notice.outcome}" if notice.outcome else ""
        log.info("notice %s%s %s", verdict, outcome, notice)
        return entry

    async def _act(self, entry: Entry) -> None:
        """Run the actions of an entry, or undo them, side by side; none for a mere plan."""
        self._export_deadline()
        notice = entry.standing.notice
        names = () if entry.is_planned else self._policy[notice.kind].actions
        async with asyncio.TaskGroup() as group:
            for name in names:
                if name in self._actions:
                    group.create_task(self._carry_out(entry, self._actions[name]))
            # Beside the actions: some wait for hours, in which the daemon may be restarted.
            group.create_task(self._afterwards.keep(notice))
        self._afterwards.acknowledge(notice)

    async def _keep_to_the_plan(self, group: asyncio.TaskGroup) -> None:
        """Put each planned notice in force when its time has come, also after a suspend."""
        while True:
            await self._has_plans.wait()
            for standing in self._state.planned():
                # Judged here and not in the task: a withdrawal that waits must come after it.
                if standing.is_due(self._now()) and (entry := self._judge(standing.notice)):
                    group.create_task(self._act(entry))
            if not self._state.planned():
                self._has_plans.clear()
            await asyncio.sleep(PLAN_LOOK_S)

    async def _carry_out(self, entry: Entry, action: Action) -> None:
        """Run or undo one action, and again while that may help."""
        is_undo = entry.withdrawn is not None
        delay_s = _FIRST_DELAY_S
        attempts = 0
        while is_undo or entry.withdrawn is None:
            attempts += 1
            record = await self._attempt(entry, action, attempts, is_undo=is_undo)
            if record.outcome not in ("retrying", "waiting"):
                return
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, _LONGEST_DELAY_S)

    async def _attempt(
        self, entry: Entry, action: Action, attempts: int, *, is_undo: bool
    ) -> ActionRecord:
        """Try once, and note in state, metrics and log what came of it."""
        call = action.undo if is_undo else action.run
        outcome = "undone" if is_undo else "done"
        try:
            async with asyncio.timeout(ATTEMPT_LIMIT_S):
                what = await call(entry.standing)
        except ActionWaiting as error:
            what, outcome = str(error), "waiting"
        except ActionDryRun as error:
            what, outcome = str(error), "dry_run"
        except (ActionRetryable, TimeoutError) as error:
            what = str(error) or f"has not come back within {ATTEMPT_LIMIT_S} s"
            outcome = "retrying" if is_undo or self._may_retry(entry, action.name) else "given_up"
        except ActionError as error:
            what, outcome = str(error), "refused"
        record = ActionRecord(outcome, self._now(), what, attempts)
        before = entry.actions.get(action.name)
        entry.actions[action.name] = record
        self._metrics.actions.labels(action.name, outcome).inc()
        if outcome == "done":
            self._observe(entry, action, record)
        if before is None or (before.outcome, before.what) != (outcome, what):
            level = logging.INFO if outcome in _AS_MEANT else logging.ERROR
            notice = entry.standing.notice
            log.log(level, "action %s action=%s %s what=%s", outcome, action.name, notice, what)
        return record

    def _may_retry(self, entry: Entry, action: str) -> bool:
        if action in _NEVER_GIVEN_UP:
            return True
        now = self._now()
        is_young = now.boottime_s - entry.admitted.boottime_s < LEAST_RETRY_S
        return is_young or entry.standing.counts_until.left_s(now) > 0

    def _observe(self, entry: Entry, action: Action, record: ActionRecord) -> None:
        """Measure from the notice in hand, when it was due, or our start: the latest counts."""
        heard = entry.standing.notice.received
        begins = (heard, entry.standing.acts_from or heard, self._started)
        since_s = max(begin.boottime_s for begin in begins)
        self._metrics.received_to_action.labels(action.name).observe(record.at.boottime_s - since_s)

    def _export_deadline(self) -> None:
        in_force = self._state.in_force()
        until = in_force[0].counts_until.wall.timestamp() if in_force else 0
        self._metrics.notice_deadline.set(until)
