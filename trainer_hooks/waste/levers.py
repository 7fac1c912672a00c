"""What a change of one of the job's times would buy, the interval being chosen anew."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trainer_hooks.waste.choice import choose
from trainer_hooks.waste.inputs import Inputs
from trainer_hooks.waste.interval import Costs, slowdown
from trainer_hooks.waste.words import digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """What a change would buy, the interval being chosen anew."""

    what: str
    costs: Costs
    slowdown: float
    saved_fraction: float
    """Of the paid hours."""


def units(inputs: Inputs, slow: float) -> Iterator[Lever]:
    """Yield what one second of C, D and R and one minute of M would buy, at a slowdown now."""
    costs = inputs.costs
    less = min(1.0, costs.stall_s / 2)
    yield _lever(inputs, slow, f"{digits(less)} s less of C", stall_s=costs.stall_s - less)
    if costs.commit_lag_s:
        less = min(1.0, costs.commit_lag_s)
        yield _lever(
            inputs, slow, f"{digits(less)} s less of D", commit_lag_s=costs.commit_lag_s - less
        )
    if costs.restart_s:
        less = min(1.0, costs.restart_s)
        yield _lever(inputs, slow, f"{digits(less)} s less of R", restart_s=costs.restart_s - less)
    yield _lever(inputs, slow, "1 min more of M", mtbi_s=costs.mtbi_s + 60)


def halvings(inputs: Inputs, slow: float) -> Iterator[Lever]:
    """Yield what half of C, D and R and twice M would buy, at a slowdown now."""
    costs = inputs.costs
    yield _lever(inputs, slow, "halve C", stall_s=costs.stall_s / 2)
    if costs.commit_lag_s:
        yield _lever(inputs, slow, "halve D", commit_lag_s=costs.commit_lag_s / 2)
    if costs.restart_s:
        yield _lever(inputs, slow, "halve R", restart_s=costs.restart_s / 2)
    yield _lever(inputs, slow, "double M", mtbi_s=costs.mtbi_s * 2)


def _lever(inputs: Inputs, slow: float, what: str, **changed: float) -> Lever:
    costs = replace(inputs.costs, **changed)  # type: ignore[arg-type]  # all of them are floats
    now = slowdown(costs, choose(costs, inputs.limits).chosen_s)
    return Lever(what=what, costs=costs, slowdown=now, saved_fraction=1 - now / slow)
