"""A plan: the interval, what it wastes, what that costs, and what would change it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.choice import Choice, break_even_nodes, choose, in_steps
from trainer_hooks.waste.emergency import CLOUD_WINDOWS, Save, Verdict, Window, odds, verdict
from trainer_hooks.waste.inputs import Inputs
from trainer_hooks.waste.interval import FirstOrder, Split, first_order, slowdown, split
from trainer_hooks.waste.levels import TwoLevels, two_levels
from trainer_hooks.waste.levers import Lever, halvings, units
from trainer_hooks.waste.storage import WEEK_S, sustained_bytes_per_s

MONTH_S = 30 * 86_400.0
GB = 1e9


class Judgement(StrEnum):
    """What to make of a plan."""

    SOUND = "sound"
    REDESIGN = "redesign"
    """More is wasted than the limit: no interval mends that."""
    DEARER = "dearer_than_on_demand"
    """Spot costs more than on-demand would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What the run costs."""

    on_demand: float
    """If nobody took anything back: the productive hours at their price."""
    compute: float
    storage: float
    egress: float

    @property
    def total(self) -> float:
        """What is paid."""
        return self.compute + self.storage + self.egress

    @property
    def saving_fraction(self) -> float:
        """Against on-demand; negative where spot is dearer."""
        return 1 - self.total / self.on_demand


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What checkpoints ask of the storage."""

    bytes_per_s: float
    """In the long run."""
    bytes_a_week: float
    to_commit_bytes_per_s: float | None
    """To have each committed within D; None while D is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtNotice:
    """What a save at the notice would come to in one cloud."""

    window: Window
    odds: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What follows from the inputs."""

    inputs: Inputs
    choice: Choice
    interval_s: float
    """The one to use: the chosen one, in whole steps where the step is known."""
    interval_steps: int | None
    slowdown: float
    split: Split
    first_order: FirstOrder
    paid_gpu_hours: float
    bill: Bill | None
    traffic: Traffic | None
    nodes_to_limit: float
    """Nodes at which the limit of waste is reached, each lasting as long as these do."""
    nodes_to_break_even: float | None
    """Nodes at which spot saves nothing; None without prices, or where it is never cheaper."""
    units: tuple[Lever, ...]
    """One second of C, D and R, one minute of M."""
    levers: tuple[Lever, ...]
    """Half of C, D and R, twice M: the best first."""
    at_notice: tuple[AtNotice, ...]
    levels: TwoLevels | None
    """What a local level beside the durable one would come to; None if nothing is known of it."""
    judgement: Judgement

    @property
    def wasted_fraction(self) -> float:
        """Of the paid time."""
        return 1 - self.split.productive


def with_waiting(plan: Plan, slow: float, parts: Split) -> Plan:
    """Return a plan that knows what waiting for capacity adds, which the formulas don't."""
    inputs = plan.inputs
    bill = _bill(inputs, plan.interval_s, slow)
    levers = [
        replace(lever, saved_fraction=(plan.slowdown - lever.slowdown) / slow)
        for lever in plan.levers
    ]
    rid = Lever(
        what="never wait",
        costs=inputs.costs,
        slowdown=slow * (1 - parts.waiting),
        saved_fraction=parts.waiting,
    )
    return replace(
        plan,
        slowdown=slow,
        split=parts,
        paid_gpu_hours=inputs.productive_gpu_hours * slow,
        bill=bill,
        levers=tuple(sorted([*levers, rid], key=lambda lever: -lever.saved_fraction)),
        units=tuple(
            replace(unit, saved_fraction=(plan.slowdown - unit.slowdown) / slow)
            for unit in plan.units
        ),
        judgement=_judge(inputs, slow, bill),
    )


def make_plan(inputs: Inputs) -> Plan:
    """Work out a plan.

    Raises:
        ConfigError: The job would never end.
    """
    costs = inputs.costs
    choice = choose(costs, inputs.limits)
    steps, interval_s = None, choice.chosen_s
    if inputs.step_s is not None:
        steps = in_steps(costs, choice, inputs.step_s)
        interval_s = steps * inputs.step_s
    slow = slowdown(costs, interval_s)
    if math.isinf(slow):
        raise ConfigError(
            f"the job would never end: between saves every {interval_s:.4g} s, and restarts of "
            f"{costs.restart_s:.4g} s, an interruption every {costs.mtbi_s:.4g} s takes all"
        )
    bill = _bill(inputs, interval_s, slow)
    node_mtbi_s = costs.mtbi_s * inputs.nodes
    return Plan(
        inputs=inputs,
        choice=choice,
        interval_s=interval_s,
        interval_steps=steps,
        slowdown=slow,
        split=split(costs, interval_s),
        first_order=first_order(costs, interval_s),
        paid_gpu_hours=inputs.productive_gpu_hours * slow,
        bill=bill,
        traffic=_traffic(inputs, interval_s),
        nodes_to_limit=break_even_nodes(costs, node_mtbi_s, 1 / (1 - inputs.waste_limit)),
        nodes_to_break_even=_break_even(inputs, node_mtbi_s),
        units=tuple(units(inputs, slow)),
        levers=tuple(sorted(halvings(inputs, slow), key=lambda lever: lever.slowdown)),
        at_notice=tuple(_at_notice(inputs)),
        levels=_levels(inputs),
        judgement=_judge(inputs, slow, bill),
    )


def cost_of(inputs: Inputs, interval_s: float, slow: float) -> float | None:
    """Return what the run costs at a slowdown; None without prices."""
    bill = _bill(inputs, interval_s, slow)
    return None if bill is None else bill.total


def _bill(inputs: Inputs, interval_s: float, slow: float) -> Bill | None:
    prices = inputs.prices
    if prices is None:
        return None
    elapsed_s = inputs.productive_s * slow
    size_gb = (inputs.limits.state_bytes or 0.0) / GB
    saves = inputs.productive_s / interval_s
    return Bill(
        on_demand=inputs.productive_gpu_hours * prices.on_demand,
        compute=inputs.productive_gpu_hours * slow * prices.mixed,
        storage=size_gb * prices.kept * prices.storage_gb_month * elapsed_s / MONTH_S,
        egress=size_gb * saves * prices.egress_gb,
    )


def _traffic(inputs: Inputs, interval_s: float) -> Traffic | None:
    size = inputs.limits.state_bytes
    if size is None:
        return None
    costs = inputs.costs
    rate = sustained_bytes_per_s(size, interval_s, costs.stall_s)
    return Traffic(
        bytes_per_s=rate,
        bytes_a_week=rate * WEEK_S,
        to_commit_bytes_per_s=size / costs.commit_lag_s if costs.commit_lag_s else None,
    )


def _break_even(inputs: Inputs, node_mtbi_s: float) -> float | None:
    prices = inputs.prices
    if prices is None or prices.mixed >= prices.on_demand:
        return None
    return break_even_nodes(inputs.costs, node_mtbi_s, prices.on_demand / prices.mixed)


def _at_notice(inputs: Inputs) -> Iterator[AtNotice]:
    costs = inputs.costs
    save = inputs.save or Save(
        median_s=costs.stall_s + costs.commit_lag_s, step_s=inputs.step_s or 0.0
    )
    for window in CLOUD_WINDOWS:
        chance = odds(save, window.notice_s)
        yield AtNotice(window=window, odds=chance, verdict=verdict(chance))


def _levels(inputs: Inputs) -> TwoLevels | None:
    if inputs.local is None:
        return None
    return two_levels(
        local_stall_s=inputs.local.stall_s,
        soft_mtbi_s=inputs.local.soft_mtbi_s,
        durable_stall_s=inputs.costs.stall_s,
        hard_mtbi_s=inputs.costs.mtbi_s,
    )


def _judge(inputs: Inputs, slow: float, bill: Bill | None) -> Judgement:
    if bill is not None and bill.saving_fraction < 0:
        return Judgement.DEARER
    wasted = 1 - 1 / slow
    return Judgement.REDESIGN if wasted > inputs.waste_limit else Judgement.SOUND
