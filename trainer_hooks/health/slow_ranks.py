"""Every rank says how long it takes by itself, and rank 0 finds who is slower than the others."""

import json
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.own_time import OwnTime, StepTime
from trainer_hooks.health.straggler import Lateness, OwnReport, Stragglers

EVERY_STEPS = 4
"""Steps in a report. Four reports make a verdict, and a slow rank is found within 20 steps."""

JUDGED_AFTER_STEPS = 2
"""Steps between a report of rank 0 and its look at all of them: the others' are there by then."""

EVERY_S = 0.05
"""Least time between two reports, in seconds: steps of milliseconds are not reported one by one."""


class SlowRanks:
    """One rank's part in finding slow ranks; the training thread calls it at each step.

    Args:
        own: Measures this rank.
        desk: Tells the others.
        note: Called on rank 0 with the own time of the slowest rank in medians, and with the
            seconds by which accused ranks hold up each step.
        now_s: The clock.
    """

    def __init__(
        self,
        own: OwnTime,
        desk: Desk,
        note: Callable[[float, float], None],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = own
        self._desk = desk
        self._note = note
        self._now_s = now_s
        self._stragglers = Stragglers()
        self._steps = 0
        self._reported_s = now_s()
        self._reports = 0
        self._is_warm = False
        self._is_complete = False

    def begin(self) -> None:
        """Note that the gate of a step is passed."""
        self._own.begin()

    def end(self, step: int) -> None:
        """Note that a step is over, after which ``step`` are finished."""
        self._own.end()
        self._steps += 1
        if self._steps == JUDGED_AFTER_STEPS and self._desk.world.is_coordinator and self._is_warm:
            self._desk.put(partial(self._judge, step))
        if self._steps % EVERY_STEPS != 0 or self._now_s() - self._reported_s < EVERY_S:
            return
        self._steps, self._reported_s = 0, self._now_s()
        taken = self._own.take()
        if not self._is_warm:  # compilers and caches; who takes long over them is not slow
            self._is_warm = True
        elif taken:
            self._desk.put(partial(self._report, taken))

    def close(self) -> None:
        """Take the hooks off the model."""
        self._own.close()

    def _report(self, taken: list[StepTime], desk: Desk) -> None:
        """Say how this rank was."""
        own_s = median(step.own_s for step in taken)
        step_s = median(step.step_s for step in taken)
        self._reports += 1
        desk.store.set(_key(desk.world.rank), json.dumps([self._reports, own_s, step_s]))
        if self._reports == 1:
            desk.store.add("health/own/ranks", 1)

    def _judge(self, step: int, desk: Desk) -> None:
        """Look at what all ranks have said last. Only rank 0 does."""
        size = desk.world.size
        self._is_complete |= desk.store.add("health/own/ranks", 0) == size
        if not self._is_complete:
            return
        said = desk.store.multi_get([_key(rank) for rank in range(size)])
        reports = {}
        for rank, text in enumerate(said):
            number, own_s, step_s = json.loads(text)
            reports[rank] = OwnReport(number=number, own_s=own_s, step_s=step_s)
        lateness = self._stragglers.judge(reports)
        self._note(lateness.score, max(lateness.accused.values(), default=0.0))
        if lateness.is_news and lateness.accused:
            desk.publish(_finding(step, lateness))


def _finding(step: int, lateness: Lateness) -> Finding:
    late = ", ".join(
        f"rank {rank} by {late_s * 1000:.0f} ms a step"
        for rank, late_s in sorted(lateness.accused.items())
    )
    return Finding(
        guard=Guard.STRAGGLER,
        step=step,
        ranks=tuple(sorted(lateness.accused)),
        text=f"slower than the others before the first collective: {late}",
    )


def _key(rank: int) -> str:
    return f"health/own/{rank}"
