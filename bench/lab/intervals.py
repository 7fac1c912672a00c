"""Medians with intervals, so that a bench judges what it knows and not one lucky run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
"""Enough for the ends of a 95 % interval to settle: 50 resamples lie beyond each."""

SEED = 20261130
"""Fixed, so that the same samples give the same interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A median, and the 95 % interval in which it lies."""

    median: float
    low: float
    high: float

    def is_beyond(self, target: float) -> bool:
        """Tell whether the whole interval lies above ``target``: only then is that missed."""
        return self.low > target

    def to_json(self) -> dict[str, float | list[float]]:
        """Return it for a bench's last line."""
        return {"median": round(self.median, 4), "ci95": [round(self.low, 4), round(self.high, 4)]}


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median of independent values, with its bootstrap interval (percentile method).

    Raises:
        ValueError: There are no values.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 13.3 (1993).
    """
    if len(values) == 0:
        raise ValueError("no values, so no median")
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.percentile(np.median(sample[drawn], axis=1), (2.5, 97.5))
    return Interval(float(np.median(sample)), float(low), float(high))


def least_percentile(values: Sequence[float], percent: float) -> float:
    """Return the low end of a percentile's 95 % interval: only above a target is that missed.

    Raises:
        ValueError: There are no values.
    """
    if len(values) == 0:
        raise ValueError("no values, so no percentile")
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(len(sample), size=(RESAMPLES, len(sample)))
    every = np.percentile(sample[drawn], percent, axis=1)
    return float(np.percentile(every, 2.5))


def ratio_interval(peers: Sequence[float], ours: Sequence[float]) -> Interval:
    """Return how many times ours a peer's figure is, from pairs measured side by side.

    A ratio within a pair cancels what slowed down both: another program, a lower clock.

    Raises:
        ValueError: The two are not pairs, or a figure of ours is not above 0.
    """
    if len(peers) != len(ours):
        raise ValueError(f"{len(peers)} figures of a peer and {len(ours)} of ours are no pairs")
    if min(ours, default=1.0) <= 0:
        raise ValueError("a figure of ours is not above 0: time more calls at once")
    return median_interval([peer / own for peer, own in zip(peers, ours, strict=True)])
