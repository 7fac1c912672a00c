"""Replays of traces: what a job would have lost to the interruptions that a pool really had.

Two questions, which must not be mixed. ``replay_losses`` takes only the instants of interruptions
and asks what is lost to them. ``replay_capacity`` takes the counts too, and lets the job wait while
there are too few nodes.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import Costs
from trainer_hooks.waste.traces import Trace

PHASES = 120
"""Starts of the job, evenly spread over the trace, which wraps around."""

ROWS_PLAYED = 10_000_000
"""Rows of a trace that are played, all starts together: what takes some ten seconds."""


def phases_for(rows: int) -> int:
    """Return from how many starts so many rows are replayed: ``PHASES``, or fewer of very many."""
    return max(4, min(PHASES, ROWS_PLAYED // rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Where paid time went in one replay, in seconds of one node. Nothing is left over."""

    productive_s: float = 0.0
    save_s: float = 0.0
    rework_s: float = 0.0
    restart_s: float = 0.0
    waiting_s: float = 0.0

    @property
    def paid_s(self) -> float:
        """The sum."""
        lost_s = self.save_s + self.rework_s + self.restart_s + self.waiting_s
        return self.productive_s + lost_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One replay from each phase."""

    phases: tuple[Parts, ...]

    def share(self, part: str) -> float:
        """Return the part of the paid time that went into one of the fields of Parts, or 0."""
        paid_s = math.fsum(parts.paid_s for parts in self.phases)
        return math.fsum(getattr(parts, part) for parts in self.phases) / paid_s if paid_s else 0.0

    @property
    def wasted_fraction(self) -> float:
        """The part of the paid time in which nothing was done that lasted."""
        return fmean(self._wasted() or [1.0])

    @property
    def wasted_range(self) -> tuple[float, float]:
        """What 5 % of the phases stay below, and 5 % exceed."""
        wasted = sorted(self._wasted()) or [1.0]
        cut = len(wasted) // 20
        return wasted[cut], wasted[-1 - cut]

    def _wasted(self) -> list[float]:
        return [1 - parts.productive_s / parts.paid_s for parts in self.phases if parts.paid_s]


def replay_losses(trace: Trace, costs: Costs, interval_s: float, phases: int = PHASES) -> Replay:
    """Replay a trace's interruptions, its time axis scaled so that they come every M in the mean.

    From the end of one restart to the next interruption, floor((x - D)/(T + C)) intervals are
    committed and the rest is rework. An interruption within a restart starts it again.

    Raises:
        ConfigError: The trace has no interruption.
    """
    losses = trace.losses
    if not losses:
        raise ConfigError(f"{trace.name} has no interruption to replay")
    horizon_s = costs.mtbi_s * len(losses)
    scale = horizon_s / trace.span_s
    at_s = [loss.at_s * scale for loss in losses]
    return Replay(
        phases=tuple(
            _lose(
                sorted((at - phase * horizon_s / phases) % horizon_s for at in at_s),
                horizon_s,
                costs,
                interval_s,
            )
            for phase in range(phases)
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many nodes a job takes of what there is.

    Raises:
        ConfigError: The numbers do not fit together.
    """

    nodes: int
    least_nodes: int
    """With how many it still runs, proportionally slower."""
    is_released_while_waiting: bool = False
    """Whether nodes that wait are given back, and not paid."""

    def __post_init__(self) -> None:
        if not 1 <= self.least_nodes <= self.nodes:
            raise ConfigError(
                f"a job of {self.nodes} nodes can't do with {self.least_nodes}: from 1 to all"
            )


def is_worth_growing(costs: Costs, nodes: float, more_nodes: float) -> bool:
    """Tell whether a job should restart to take nodes that have come back.

    They do more until the next interruption than the restart of all costs.
    """
    stop_s = costs.stall_s + costs.commit_lag_s + costs.restart_s
    return more_nodes * costs.mtbi_s > (nodes + more_nodes) * stop_s


def replay_capacity(
    trace: Trace, costs: Costs, interval_s: float, size: Size, phases: int = PHASES
) -> Replay:
    """Replay a trace's counts as they were: the job runs while there are enough nodes.

    It is interrupted when fewer are there than it runs with, and goes on with what is there, if
    that is enough. It stops to grow, with everything saved, where that is worth it; nodes that it
    does not run with are not paid.
    """
    return Replay(
        phases=tuple(
            _run(_from(trace, phase * trace.span_s / phases), costs, interval_s, size)
            for phase in range(phases)
        )
    )


class _Tally:
    """Adds up where the time of one replay goes."""

    def __init__(self, costs: Costs, interval_s: float) -> None:
        self._costs = costs
        self._interval_s = interval_s
        self._segment_s = interval_s + costs.stall_s
        self._productive_s = self._save_s = self._rework_s = self._restart_s = 0.0
        self.waiting_s = 0.0

    def add_start(self, nodes: int, since_s: float, restart_s: float) -> None:
        """Add a start that an interruption has ended, ``since_s`` after it was begun."""
        restart_s = min(since_s, restart_s)
        running_s = since_s - restart_s
        segments = max(0, int((running_s - self._costs.commit_lag_s) // self._segment_s))
        self._productive_s += nodes * segments * self._interval_s
        self._save_s += nodes * segments * self._costs.stall_s
        self._rework_s += nodes * (running_s - segments * self._segment_s)
        self._restart_s += nodes * restart_s

    def add_planned(self, nodes: int, since_s: float) -> None:
        """Add a start that ended by itself, with one save more: nothing is lost."""
        restart_s = min(since_s, self._costs.restart_s)
        last_s = min(since_s - restart_s, self._costs.stall_s + self._costs.commit_lag_s)
        running_s = since_s - restart_s - last_s
        productive_s = running_s * self._interval_s / self._segment_s
        self._productive_s += nodes * productive_s
        self._save_s += nodes * (running_s - productive_s + last_s)
        self._restart_s += nodes * restart_s

    @property
    def parts(self) -> Parts:
        """The sums."""
        return Parts(
            productive_s=self._productive_s,
            save_s=self._save_s,
            rework_s=self._rework_s,
            restart_s=self._restart_s,
            waiting_s=self.waiting_s,
        )


def _lose(events_s: Sequence[float], end_s: float, costs: Costs, interval_s: float) -> Parts:
    tally, down_s, restart_s = _Tally(costs, interval_s), 0.0, 0.0
    for at_s in (*events_s, end_s):
        tally.add_start(1, at_s - down_s, restart_s)
        down_s, restart_s = at_s, costs.restart_s
    return tally.parts


def _from(trace: Trace, phase_s: float) -> Iterator[tuple[int, float]]:
    """Yield counts and how long they lasted, from an instant on and around to it."""
    at_s, before = 0.0, []
    for count, seconds in trace.stretches():
        end_s = at_s + seconds
        if at_s < phase_s:
            before.append((count, min(end_s, phase_s) - at_s))
        if end_s > phase_s:
            yield count, end_s - max(at_s, phase_s)
        at_s = end_s
    yield from before


def _run(
    stretches: Iterable[tuple[int, float]], costs: Costs, interval_s: float, size: Size
) -> Parts:
    tally = _Tally(costs, interval_s)
    nodes, since_s = 0, 0.0  # what it runs with, and since when it is up or restarting
    for there, seconds in stretches:
        count = min(there, size.nodes)
        if count < nodes:
            tally.add_start(nodes, since_s, costs.restart_s)
            nodes = 0
        elif nodes and is_worth_growing(costs, nodes, count - nodes):
            tally.add_planned(nodes, since_s)
            nodes = 0
        if not nodes and count >= size.least_nodes:
            nodes, since_s = count, 0.0
        since_s += seconds
        if not nodes and not size.is_released_while_waiting:
            tally.waiting_s += count * seconds
    tally.add_start(nodes, since_s, costs.restart_s)
    return tally.parts
