"""Every rank says how long it takes by itself, and rank 0 finds who is slower than the others."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median

from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.own_time import Instants, OwnTime, StepTime, early_times
from trainer_hooks.health.straggler import Lateness, OwnReport, Stragglers

EVERY_STEPS = 4
"""Steps in a report. Four reports make a verdict, and a slow rank is found within 20 steps."""

JUDGED_AFTER_STEPS = 2
"""Steps between a report of rank 0 and its look at all of them: the others' are there by then."""

EVERY_S = 0.05
"""Least time between two reports, in seconds: steps of milliseconds are not reported one by one."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What one rank has said last."""

    early: OwnReport
    """Up to the first collective."""
    without_wait: OwnReport | None
    """The whole step but the wait inside collectives; None where that is not seen, or not yet."""

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: bytes) -> "_Told":
        said = json.loads(text)
        rest = said["without_wait"]
        return cls(OwnReport(**said["early"]), None if rest is None else OwnReport(**rest))


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
        self.own = own
        """To be told when the gate of a step is passed."""
        self._desk = desk
        self._note = note
        self._now_s = now_s
        self._early, self._waited_for = Stragglers(), Stragglers()
        self._named: set[int] = set()
        """Who was told to be waited for."""
        self._steps = 0
        self._reported_s = now_s()
        self._without_wait: OwnReport | None = None
        self._steps_without_report = 0
        self._reports = 0
        self._is_warm = False
        self._is_complete = False

    def end(self, step: int) -> None:
        """Note that a step is over, after which ``step`` are finished."""
        self.own.end()
        self._steps += 1
        if self._steps == JUDGED_AFTER_STEPS and self._desk.world.is_coordinator and self._is_warm:
            self._desk.put(partial(self._judge, step))
        if self._steps % EVERY_STEPS != 0 or self._now_s() - self._reported_s < EVERY_S:
            return
        self._steps, self._reported_s = 0, self._now_s()
        taken, without_wait = self.own.take(), self.own.take_without_wait(EVERY_STEPS)
        if not self._is_warm:  # compilers and caches; who takes long over them is not slow
            self._is_warm = True
        elif taken:
            self._desk.put(partial(self._report, taken, without_wait))

    def close(self) -> None:
        """Take the hooks off the model."""
        self.own.close()

    def _report(
        self, taken: Sequence[Instants], without_wait: Sequence[StepTime], desk: Desk
    ) -> None:
        """Say how this rank was."""
        self._reports += 1
        self._steps_without_report += len(taken)
        if without_wait:
            stands_for, self._steps_without_report = self._steps_without_report, 0
            self._without_wait = _report_of(self._reports, without_wait, stands_for)
        early = _report_of(self._reports, early_times(taken), len(taken))
        told = _Told(early, self._without_wait)
        desk.store.set(_key(desk.world.rank), told.encode())
        if self._reports == 1:
            desk.store.add("health/own/ranks", 1)

    def _judge(self, step: int, desk: Desk) -> None:
        """Look at what all ranks have said last. Only rank 0 does."""
        size = desk.world.size
        self._is_complete |= desk.store.add("health/own/ranks", 0) == size
        if not self._is_complete:
            return
        said = desk.store.multi_get([_key(rank) for rank in range(size)])
        told = {rank: _Told.decode(text) for rank, text in enumerate(said)}
        early = self._early.judge({rank: one.early for rank, one in told.items()})
        if early.is_news and early.accused:
            where = "slower than the others before the first collective"
            desk.publish(_finding(step, where, early.accused))
        late_s = max(early.accused.values(), default=0.0)
        rest = {r: one.without_wait for r, one in told.items() if one.without_wait is not None}
        if len(rest) == size:
            lateness = self._waited_for.judge(rest)
            late_s = max(late_s, *lateness.accused.values(), 0.0)
            self._name_waited_for(step, lateness, early, desk)
        self._note(early.score, late_s)

    def _name_waited_for(self, step: int, found: Lateness, early: Lateness, desk: Desk) -> None:
        """Name who is waited for inside collectives, and was not late before them already."""
        late = {rank: s for rank, s in found.accused.items() if rank not in early.accused}
        if late and set(late) != self._named:
            where = "waited for by the others inside collectives"
            desk.publish(_finding(step, where, late))
        self._named = set(late)


def _report_of(number: int, steps: Sequence[StepTime], stands_for: int) -> OwnReport:
    return OwnReport(
        number=number,
        steps=stands_for,
        own_s=median(step.own_s for step in steps),
        step_s=median(step.step_s for step in steps),
    )


def _finding(step: int, where: str, accused: Mapping[int, float]) -> Finding:
    late = ", ".join(
        f"rank {rank} by {late_s * 1000:.0f} ms a step" for rank, late_s in sorted(accused.items())
    )
    return Finding(
        guard=Guard.STRAGGLER, step=step, ranks=tuple(sorted(accused)), text=f"{where}: {late}"
    )


def _key(rank: int) -> str:
    return f"health/own/{rank}"
