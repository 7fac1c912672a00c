"""A job in virtual time: it trains, saves and is interrupted, and nobody waits for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lab.intervals import RESAMPLES, SEED, Interval
from trainer_hooks.waste.interval import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What became of a job that was interrupted at certain times, saving at one interval."""

    kept_s: NDArray[np.float64]
    """Work committed between one interruption and the next."""
    paid_s: NDArray[np.float64]
    """From the one to the other, with the restart."""

    @property
    def waste(self) -> float:
        """The part of the paid time that was wasted."""
        return float(1 - self.kept_s.sum() / self.paid_s.sum())


def live(runs_s: Sequence[float], interval_s: float, costs: Costs) -> Life:
    """Let a job live through interruptions, each so long after its last start has begun to train.

    Args:
        runs_s: Running time up to each of them.
        interval_s: Work between two saves.
        costs: What saves and restarts take; the M in it is not looked at.
    """
    runs = np.asarray(runs_s, dtype=np.float64)
    kept = np.array([_kept_s(float(running_s), interval_s, costs) for running_s in runs])
    return Life(kept_s=kept, paid_s=runs + costs.restart_s)


def without_restarts(life: Life, costs: Costs) -> Life:
    """Return the same life without what no interval changes."""
    return replace(life, paid_s=life.paid_s - costs.restart_s)


def waste_ratio(one: Life, other: Life) -> Interval:
    """Return how many times the other's waste the one's is, with its 95 % interval.

    Of the same interruptions, which are drawn again together: what they have done to both cancels.
    """
    count = len(one.paid_s)
    drawn = np.random.default_rng(SEED).integers(count, size=(RESAMPLES, count))
    wastes = [
        1 - life.kept_s[drawn].sum(axis=1) / life.paid_s[drawn].sum(axis=1) for life in (one, other)
    ]
    low, high = np.percentile(wastes[0] / wastes[1], (2.5, 97.5))
    return Interval(one.waste / other.waste, float(low), float(high))


def _kept_s(running_s: float, interval_s: float, costs: Costs) -> float:
    """Return the work that is committed when an interruption comes.

    Event by event: a save waits for the one before, holds training up, and is committed behind its
    back; whatever is not committed by then is lost.
    """
    now_s = work_s = kept_s = 0.0
    commit_at_s, in_flight_s = 0.0, 0.0
    while True:
        now_s = max(now_s + interval_s, commit_at_s)
        work_s += interval_s
        if commit_at_s <= running_s:
            kept_s = in_flight_s
        if now_s + costs.stall_s > running_s:
            return kept_s
        now_s += costs.stall_s
        commit_at_s, in_flight_s = now_s + costs.commit_lag_s, work_s
