"""Which interval to take: the best that storage can bear, in steps, and steady.

Estimates wander, and the waste is flat around its optimum: what is in force stays until another
interval gains something.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import Costs, daly_s, exact_s, slowdown, young_s

LEAST_GAIN = 0.002
"""A change of cadence has to save this part of the paid time ..."""

LARGE_CHANGE = 0.25
"""... or be this large, as a natural logarithm: what is far off may cost much tomorrow."""


class Bound(StrEnum):
    """What an interval was chosen by."""

    OPTIMUM = "optimum"
    COMMIT_LAG = "commit_lag"
    """A save may begin only when the one before is committed."""
    BANDWIDTH = "bandwidth"
    OVERHEAD = "overhead"
    """Saves may take only so much of the training time, whatever that costs in rework."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an interval has to respect beside the waste.

    Raises:
        ConfigError: A bandwidth without the bytes that it has to carry, or no positive number.
    """

    state_bytes: float | None = None
    """Size of one checkpoint, of all ranks together."""
    bytes_per_s: float | None = None
    """What the storage may be asked for in the long run."""
    overhead: float | None = None
    """Stalls take at most this part of the productive time, and the interval is no longer than
    that asks for: CheckFreq's rule (Mohan et al., FAST '21), instead of the optimum."""
    lag_margin: float = 0.0
    """How much longer than the commit lag an interval has to be, as a fraction of it."""

    def __post_init__(self) -> None:
        for name in ("state_bytes", "bytes_per_s", "overhead"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name} has to be a positive number, not {value}")
        if self.bytes_per_s is not None and self.state_bytes is None:
            raise ConfigError("a limit of bytes_per_s says nothing without state_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The interval to take, beside what each rule would have said."""

    young_s: float
    daly_s: float
    exact_s: float
    chosen_s: float
    bound: Bound


def choose(costs: Costs, limits: Limits | None = None) -> Choice:
    """Choose the interval of least waste that the limits allow."""
    limits = Limits() if limits is None else limits
    exact = exact_s(costs)
    lowest = _least_s(costs, limits)
    if limits.overhead is None:
        lowest[Bound.OPTIMUM] = exact
    lowest[Bound.COMMIT_LAG] *= 1 + limits.lag_margin
    bound = max(lowest, key=lambda kind: lowest[kind])
    return Choice(
        young_s=young_s(costs),
        daly_s=daly_s(costs),
        exact_s=exact,
        chosen_s=lowest[bound],
        bound=bound,
    )


def in_steps(costs: Costs, choice: Choice, step_s: float) -> int:
    """Return the chosen interval in training steps, at least 1: the best of the nearest ones.

    A bound of storage is never undercut, and "at most x %" is no target to come close to either.
    """
    if choice.bound is not Bound.OPTIMUM:
        return max(1, math.ceil(choice.chosen_s / step_s * (1 - 1e-12)))
    nearest = max(1, round(choice.chosen_s / step_s))
    near = (max(1, nearest - 1), nearest, nearest + 1)
    lag_s = costs.commit_lag_s
    allowed = [steps for steps in near if steps * step_s >= lag_s] or [nearest + 1]
    return min(allowed, key=lambda steps: slowdown(costs, steps * step_s))


def is_worth_changing(
    costs: Costs, now_s: float, proposed_s: float, limits: Limits | None = None
) -> bool:
    """Tell whether an interval in force should give way to another.

    Near its optimum the waste is flat, so estimates that wander would move the interval for
    nothing. One that is shorter than a limit allows, or than the commit lag, gives way to any
    longer one.
    """
    least_s = max(_least_s(costs, Limits() if limits is None else limits).values())
    if now_s < min(least_s, proposed_s):
        return True
    if abs(math.log(proposed_s / now_s)) > LARGE_CHANGE:
        return True
    gain = slowdown(costs, now_s) / slowdown(costs, proposed_s) - 1
    return gain > LEAST_GAIN


def break_even_nodes(costs: Costs, node_mtbi_s: float, limit: float) -> float:
    """Return the number of nodes at which the slowdown reaches a limit, each size at its best.

    Nodes are taken to fail independently, so M = ``node_mtbi_s`` / nodes. The limit at which spot
    costs what on-demand does is on-demand price over spot price.

    Returns:
        A real number; less than 1 where a single node is too many already.
    """

    def reached(nodes: float) -> bool:
        sized = replace(costs, mtbi_s=node_mtbi_s / nodes)
        return slowdown(sized, choose(sized).chosen_s) > limit

    if not 1 < limit < math.inf:
        raise ConfigError(f"a slowdown to break even at is above 1, not {limit}")
    low = high = 1.0
    while not reached(high):
        high *= 2
    while reached(low):
        low /= 2
    while low < (middle := math.sqrt(low * high)) < high:
        low, high = (low, middle) if reached(middle) else (middle, high)
    return low


def _least_s(costs: Costs, limits: Limits) -> dict[Bound, float]:
    """Return how short an interval may be by each of the limits; by the commit lag always."""
    least = {Bound.COMMIT_LAG: costs.commit_lag_s}
    if limits.overhead is not None:
        least[Bound.OVERHEAD] = costs.stall_s / limits.overhead
    if limits.bytes_per_s is not None and limits.state_bytes is not None:
        least[Bound.BANDWIDTH] = limits.state_bytes / limits.bytes_per_s - costs.stall_s
    return least
