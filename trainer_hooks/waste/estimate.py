"""What a job's own history says of M, C, D and R, and how surely.

M is that of the *job*: how long it runs until something takes it down. Nodes that are lost while
it is down belong to the same interruption. Counting lost nodes instead makes M 1.25 to 11 times
too short, because clouds take nodes in bursts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.gamma import chi_square_quantile, gamma_quantile
from trainer_hooks.waste.storage import WEEK_S

WEAK_SHAPE = 0.5
"""Jeffreys' prior of a rate, with nothing in its exposure."""

FORGET_EVENTS = 20
"""What is this many interruptions ago counts half, if it is longer ago than a week."""

LAST_STALLS = 15
"""Stalls that the median is of: it follows a change within eight saves, and no single odd one."""

FORGET_RESTARTS = 10
"""Restarts, or commit lags, after which an old one counts half."""

FANO_WINDOW_S = 3600.0

SURE = 0.99
"""How surely gaps have to be no accident of random ones to be called over-dispersed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uptime:
    """A stretch of running: from the first step of a start to its last."""

    running_s: float
    is_interrupted: bool
    """Whether an interruption ended it; not the end of the run, a drill, or a person's wish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MtbiEstimate:
    """How long a job runs between interruptions: a Gamma posterior of their rate."""

    shape: float
    exposure_s: float

    @property
    def mtbi_s(self) -> float:
        """M of the mean rate, which is the one to plan the interval with."""
        return self.exposure_s / self.shape

    def quantile_s(self, chance: float) -> float:
        """Return what M is at most with this chance."""
        return self.exposure_s / gamma_quantile(1 - chance, self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispersion:
    """Whether interruptions come at random."""

    gaps_cv: float
    """Standard deviation of the gaps over their mean: about 1 at random."""
    fano: float
    """Variance of the counts in windows of ``FANO_WINDOW_S`` over their mean: about 1 at random."""
    is_over_dispersed: bool
    """They cluster, more than chance explains: less is lost than the formulas say, and the best
    interval is 1.2 to 1.5 times longer."""


def estimate_mtbi(uptimes: Sequence[Uptime], prior_mtbi_s: float | None = None) -> MtbiEstimate:
    """Estimate M from stretches of running, oldest first. What is long ago counts less.

    Args:
        uptimes: Of the job as it is now: start afresh when its size changes.
        prior_mtbi_s: What is assumed of the pool until the first interruption.

    Raises:
        ConfigError: There is no running time, and no assumption either.
    """
    exposure_s = math.fsum(uptime.running_s for uptime in uptimes)
    count = sum(uptime.is_interrupted for uptime in uptimes)
    half_s = max(WEEK_S, FORGET_EVENTS * exposure_s / max(count, 1))
    events, age_s = 0.0, 0.0
    for uptime in reversed(uptimes):
        events += 0.5 ** (age_s / half_s) if uptime.is_interrupted else 0
        age_s += uptime.running_s
    remembered_s = -math.expm1(-exposure_s / half_s * math.log(2)) * half_s / math.log(2)
    return posterior(events, remembered_s, prior_mtbi_s)


def posterior(events: float, exposure_s: float, prior_mtbi_s: float | None = None) -> MtbiEstimate:
    """Return what a number of interruptions in a running time says of M.

    Before the first one the prior of the pool counts as one in its ``prior_mtbi_s``; from then on
    the data speaks.

    Raises:
        ConfigError: There is nothing to estimate from.
    """
    if events == 0 and prior_mtbi_s is not None:
        return MtbiEstimate(shape=1.0, exposure_s=prior_mtbi_s + exposure_s)
    if exposure_s <= 0:
        raise ConfigError("M can't be estimated from no running time and no assumption")
    return MtbiEstimate(shape=WEAK_SHAPE + events, exposure_s=exposure_s)


def scaled_mtbi_s(mtbi_s: float, nodes: float, new_nodes: float, exponent: float = 1.0) -> float:
    """Return M of a job of another size, until it is measured: M N^-a.

    Args:
        mtbi_s: Of the job with ``nodes``.
        nodes: Nodes it was measured with.
        new_nodes: Nodes it will have.
        exponent: a: 1 if nodes are taken one by one, which is the careful guess; 0 if all at once.
    """
    return mtbi_s * math.pow(nodes / new_nodes, exponent)


def typical_stall_s(stalls_s: Sequence[float]) -> float:
    """Return C: the median of the last stalls, oldest first. One slow save says nothing."""
    return median(stalls_s[-LAST_STALLS:])


def mean_of_late_s(durations_s: Sequence[float]) -> float:
    """Return R or D: a mean, because waste grows with the mean; what is long ago counts less."""
    weights = [0.5 ** (age / FORGET_RESTARTS) for age in range(len(durations_s))]
    return fmean(reversed(durations_s), weights)


def dispersion(uptimes: Sequence[Uptime]) -> Dispersion | None:
    """Tell whether interruptions come at random; None while there are too few to say.

    The gaps are of running time: what strikes a job that is down strikes nobody.
    """
    at_s, gaps_s, since_s = [], [], 0.0
    exposure_s = 0.0
    for uptime in uptimes:
        since_s += uptime.running_s
        exposure_s += uptime.running_s
        if uptime.is_interrupted:
            gaps_s.append(since_s)
            at_s.append(exposure_s)
            since_s = 0.0
    windows = int(exposure_s / FANO_WINDOW_S)
    counts = [0] * windows
    for at in at_s:
        if at < windows * FANO_WINDOW_S:
            counts[int(at / FANO_WINDOW_S)] += 1
    if len(gaps_s) < 2 or windows < 2 or not any(counts) or not fmean(gaps_s):
        return None
    fano = pstdev(counts) ** 2 * windows / (windows - 1) / fmean(counts)
    return Dispersion(
        gaps_cv=pstdev(gaps_s) / fmean(gaps_s),
        fano=fano,
        is_over_dispersed=fano * (windows - 1) > chi_square_quantile(SURE, windows - 1),
    )
