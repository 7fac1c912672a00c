"""What chance and traces make of a plan: the parts of its output that take a while."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.estimate import Dispersion, Uptime, dispersion
from trainer_hooks.waste.inputs import Inputs
from trainer_hooks.waste.interval import Split, slowdown, young_s
from trainer_hooks.waste.levels import pair_loss_probability
from trainer_hooks.waste.plan import Plan, cost_of
from trainer_hooks.waste.playable import check_playable
from trainer_hooks.waste.replay import Replay, Size, phases_for, replay_capacity, replay_losses
from trainer_hooks.waste.traces import Trace

if TYPE_CHECKING:
    from trainer_hooks.waste.montecarlo import Progress, Sample, Spread

PARTS = ("productive", "save", "rework", "restart", "waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Runs played at random."""

    runs: int
    seed: int
    slowdown: "Spread"
    split: Split
    """Of the paid time of all runs."""
    elapsed_days: "Spread"
    paid_gpu_hours: tuple[float, float]
    """9 of 10 runs pay between these."""
    cost: tuple[float, float] | None
    """The same, as money."""
    values: tuple[float, ...]
    """The slowdown of each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What playing at random takes for granted."""

    runs: int
    seed: int
    weibull_shape: float = 1.0
    burst: float = 1.0
    capacity_wait_s: float = 0.0
    least_nodes: int | None = None
    is_released_while_waiting: bool = False


def is_playable(plan: Plan, assumed: Assumed) -> bool:
    """Tell whether runs of a plan can be played in minutes. Needs no numpy."""
    inputs, has_fleet = plan.inputs, assumed.capacity_wait_s > 0
    work = inputs.costs, plan.interval_s, inputs.productive_s
    try:
        check_playable(*work, assumed.runs, has_fleet=has_fleet)
    except ConfigError:
        return False
    return True


def play(plan: Plan, assumed: Assumed, progress: "Progress") -> Chance:
    """Play runs of the plan's size at its interval. Needs numpy.

    Raises:
        ConfigError: They would not end, or the numbers do not fit together.
    """
    from trainer_hooks.waste.fleet import Fleet, simulate_fleet  # noqa: PLC0415 - numpy is slow
    from trainer_hooks.waste.montecarlo import Work, simulate  # noqa: PLC0415 - numpy is slow

    inputs = plan.inputs
    work = Work(
        costs=inputs.costs,
        interval_s=plan.interval_s,
        productive_s=inputs.productive_s,
        weibull_shape=assumed.weibull_shape,
    )
    fleet = Fleet(
        nodes=inputs.nodes,
        least_nodes=assumed.least_nodes or inputs.nodes,
        burst=assumed.burst,
        capacity_wait_s=assumed.capacity_wait_s,
        is_released_while_waiting=assumed.is_released_while_waiting,
    )
    if fleet.capacity_wait_s:
        sample = simulate_fleet(
            work, fleet, runs=assumed.runs, seed=assumed.seed, progress=progress
        )
    else:
        sample = simulate(work, runs=assumed.runs, seed=assumed.seed, progress=progress)
    return _chance(plan, assumed, sample)


def _chance(plan: Plan, assumed: Assumed, sample: "Sample") -> Chance:
    from trainer_hooks.waste.montecarlo import Spread  # noqa: PLC0415 - numpy is slow

    inputs, slow = plan.inputs, sample.slowdown
    paid_s = float(sample.paid_s.sum())
    low = cost_of(inputs, plan.interval_s, slow.low)
    high = cost_of(inputs, plan.interval_s, slow.high)
    return Chance(
        runs=assumed.runs,
        seed=assumed.seed,
        slowdown=slow,
        split=Split(**{part: float(getattr(sample, f"{part}_s").sum()) / paid_s for part in PARTS}),
        elapsed_days=Spread.of(sample.elapsed_s / 86_400),
        paid_gpu_hours=(
            inputs.productive_gpu_hours * slow.low,
            inputs.productive_gpu_hours * slow.high,
        ),
        cost=None if low is None or high is None else (low, high),
        values=tuple(map(float, sample.paid_s / sample.productive_s)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A trace, and what the plan would have come to on it."""

    trace: Trace
    events: int
    node_losses: int
    largest_loss: int
    own_mtbi_s: float
    """Between its distinct interruptions, before its time axis was scaled to the plan's M."""
    dispersion: Dispersion | None
    """Whether they came at random; None where there are too few to say."""
    node_mtbi_hours: float
    losses: Replay
    """At the plan's M and interval."""
    exact_wasted_fraction: float
    """What the formula says of the same."""
    independent_wasted_fraction: float
    """What it says if each lost node is counted as an interruption: too much."""
    pair_loss: float | None
    """The chance that the largest burst takes both replicas of a pair of nodes."""
    size: Size
    capacity_share: float
    """The part of the time in which there were enough nodes."""
    capacity: Replay
    """With the trace's own counts and times."""


def replay(plan: Plan, trace: Trace, assumed: Assumed) -> Replayed:
    """Replay a trace under a plan.

    Raises:
        ConfigError: The trace has no interruption, or never as many nodes as the job needs.
    """
    inputs, costs = plan.inputs, plan.inputs.costs
    phases = phases_for(len(trace.rows))
    losses = replay_losses(trace, costs, plan.interval_s, phases)
    nodes = min(inputs.nodes, trace.peak_nodes)
    size = Size(
        nodes=nodes,
        least_nodes=min(assumed.least_nodes or nodes, nodes),
        is_released_while_waiting=assumed.is_released_while_waiting,
    )
    lost = [loss.nodes for loss in trace.losses]
    even = trace.peak_nodes - trace.peak_nodes % 2
    return Replayed(
        trace=trace,
        events=len(lost),
        node_losses=sum(lost),
        largest_loss=max(lost),
        own_mtbi_s=trace.span_s / len(lost),
        dispersion=dispersion(uptimes(trace)),
        node_mtbi_hours=trace.node_hours / sum(lost),
        losses=losses,
        exact_wasted_fraction=1 - 1 / slowdown(costs, plan.interval_s),
        independent_wasted_fraction=_independent(inputs, len(lost) / sum(lost)),
        pair_loss=pair_loss_probability(even, min(max(lost), even)) if even >= 4 else None,
        size=size,
        capacity_share=trace.share_with(size.least_nodes),
        capacity=replay_capacity(trace, costs, plan.interval_s, size, phases),
    )


def uptimes(trace: Trace) -> list[Uptime]:
    """Return the stretches between a trace's interruptions, the first and the last to its ends."""
    at_s = [0.0, *(loss.at_s for loss in trace.losses), trace.span_s]
    return [
        Uptime(running_s=end - begin, is_interrupted=number < len(at_s) - 1)
        for number, (begin, end) in enumerate(pairwise(at_s), 1)
    ]


def _independent(inputs: Inputs, ratio: float) -> float:
    often = replace(inputs.costs, mtbi_s=inputs.costs.mtbi_s * ratio)
    return 1 - 1 / slowdown(often, young_s(often))
