"""The theory of checkpoint intervals: how much of the paid time is lost, and when it is least.

Interruptions strike the job as a whole, at random, every ``mtbi_s`` seconds of running in the mean.
All times are seconds; T is the useful work between two saves, the stall of a save not included.

Sources (read 2026-11-30): J. W. Young, "A first order approximation to the optimum checkpoint
interval", CACM 17 (1974); J. T. Daly, "A higher order estimate of the optimum checkpoint interval",
FGCS 22 (2006), whose published values for C = 5 min the tests hold ``daly_s`` against.
"""

import math
from dataclasses import dataclass

from trainer_hooks.errors import ConfigError

HOPELESS = 100.0
"""A slowdown from which nobody plays a run to its end, let alone pays it."""

NEWTON_STEPS = 200
"""Far more than any start needs: about 30 to halve down to the smallest C/M, then 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What is known of a job.

    Raises:
        ConfigError: One of them is no duration, or there is no stall or no interruption at all.
    """

    mtbi_s: float
    """M: mean running time between interruptions of the job, whichever node they strike."""
    stall_s: float
    """C: how long training stands still for a save."""
    restart_s: float = 0.0
    """R: paid time from an interruption to the first new step."""
    commit_lag_s: float = 0.0
    """D: from the end of the stall until the save is committed, in the background."""
    can_restart_fail: bool = True
    """Whether interruptions strike restarts too. False where M counts those of running time only,
    as our estimates do (RUNNING -> DOWN): then a restart takes R and no more."""

    def __post_init__(self) -> None:
        for name, least in (("mtbi_s", 1), ("stall_s", 1), ("restart_s", 0), ("commit_lag_s", 0)):
            value = getattr(self, name)
            if not (0 <= value < math.inf and (value > 0 or not least)):
                raise ConfigError(f"{name} has to be a duration in seconds, not {value}")

    @property
    def cycle_s(self) -> float:
        """Paid time between two interruptions of running time, the restarts between them included.

        An interrupted restart begins again: to get R seconds through takes M(e^(R/M) - 1).
        """
        if self.can_restart_fail:
            return self.mtbi_s * _exp(self.restart_s / self.mtbi_s)
        return self.mtbi_s + self.restart_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Where paid time goes, as fractions that sum to 1."""

    productive: float
    save: float
    """Stalls of saves that were committed."""
    rework: float
    """What had to be done again, stalls of saves that were not committed included."""
    restart: float
    waiting: float = 0.0
    """Paid for nodes that wait for others to be had, of which the formulas know nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOrder:
    """The usual estimate: terms that are small next to 1, or wrong.

    ``save`` is per productive second and the others are per second of running, so their sum is
    neither a fraction of paid time nor an overhead. It is shown because everybody uses it.
    """

    save: float
    rework: float
    restart: float

    @property
    def total(self) -> float:
        """The sum."""
        return self.save + self.rework + self.restart


def young_s(costs: Costs, saved_fraction: float = 0.0) -> float:
    """Return Young's interval, sqrt(2CM), at which save and rework cost the same to first order.

    Args:
        costs: Of the job.
        saved_fraction: How often a notice leaves time to save all; the rest is lost as ever.
    """
    return math.sqrt(2 * costs.stall_s * costs.mtbi_s / (1 - saved_fraction))


def daly_s(costs: Costs) -> float:
    """Return Daly's interval, good where saves are not much shorter than M. Source: his eq. 37."""
    ratio = costs.stall_s / (2 * costs.mtbi_s)
    if ratio >= 1:
        return costs.mtbi_s
    return young_s(costs) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - costs.stall_s


def exact_s(costs: Costs) -> float:
    """Return the interval of least waste, M(1 + W0(-e^(-1 - C/M))). R and D don't move it."""
    return costs.mtbi_s * one_plus_w0(costs.stall_s / costs.mtbi_s)


def late_exact_s(costs: Costs) -> float:
    """Return the interval of least waste where each save is committed only at the next one.

    There D = T, and ``slowdown`` has its minimum where t (1 + 1/(1 - e^-(t + c))) = 1, with t and c
    in units of M. The left side grows with t from below 1, so bisection finds it.
    """
    stall = costs.stall_s / costs.mtbi_s
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if middle * (1 - 1 / math.expm1(-(middle + stall))) < 1:
            low = middle
        else:
            high = middle
    return costs.mtbi_s * low


def slowdown(costs: Costs, interval_s: float) -> float:
    """Return paid time over productive time at an interval: 1 would be no waste at all.

    Exact for interruptions at random: M e^((R+D)/M) (e^((T+C)/M) - 1) / T, because a cycle commits
    e^(-D/M) / (e^((T+C)/M) - 1) saves in the mean. So D costs what a longer restart would.
    """
    saves = _saves_in_cycle(costs, interval_s)
    return costs.cycle_s / (saves * interval_s) if saves else math.inf


def split(costs: Costs, interval_s: float) -> Split:
    """Return where paid time goes at an interval. Exact, and sums to 1."""
    saves = _saves_in_cycle(costs, interval_s)
    if math.isinf(costs.cycle_s):  # restarts so long that none gets through
        return Split(productive=0.0, save=0.0, rework=0.0, restart=1.0)
    productive = saves * interval_s / costs.cycle_s
    save = saves * costs.stall_s / costs.cycle_s
    running = costs.mtbi_s / costs.cycle_s
    return Split(
        productive=productive,
        save=save,
        rework=running - productive - save,
        restart=1 - running,
    )


def first_order(costs: Costs, interval_s: float, saved_fraction: float = 0.0) -> FirstOrder:
    """Return C/T, (T/2 + D)/M and R/M, as most texts have them."""
    return FirstOrder(
        save=costs.stall_s / interval_s,
        rework=(1 - saved_fraction) * (interval_s / 2 + costs.commit_lag_s) / costs.mtbi_s,
        restart=costs.restart_s / costs.mtbi_s,
    )


def one_plus_w0(stall: float) -> float:
    """Return 1 + W0(-e^(-1 - c)), the root u in (0, 1) of u + ln(1 - u) + c = 0.

    Solved in u and not in W, which is close to -1, so that a small u keeps its digits. The function
    is concave and falls, so Newton's steps from a start right of the root never pass it.
    Source: R. M. Corless et al., "On the Lambert W function", Adv. Comput. Math. 5 (1996), for W0.
    """
    root = min(math.sqrt(2 * stall), -math.expm1(-1 - stall))
    for _ in range(NEWTON_STEPS):
        if root >= 1:  # c so large that 1 - u is below the last digit
            break
        step = (root + math.log1p(-root) + stall) * (1 - root) / root
        if root + step >= root:
            break
        root += step
    return root


def _saves_in_cycle(costs: Costs, interval_s: float) -> float:
    """Return how many saves one cycle commits in the mean."""
    mtbi_s = costs.mtbi_s
    segment = _exp((interval_s + costs.stall_s) / mtbi_s, less=1)
    return math.exp(-costs.commit_lag_s / mtbi_s) / segment


def _exp(value: float, less: int = 0) -> float:
    """Return e^value, less 1 if asked to; infinity where that is more than a float holds."""
    try:
        return math.expm1(value) if less else math.exp(value)
    except OverflowError:
        return math.inf
