"""Runs at random: what a whole run may cost, and not only what it costs in the mean.

Each run goes on until its work is done and committed. Every interruption loses what was not
committed and costs a restart. The mean is that of ``interval.slowdown``; what chance adds is how
far apart runs of the same length end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import Costs, slowdown
from trainer_hooks.waste.playable import check_playable

Floats = NDArray[np.float64]
Progress = Callable[[float], None]
"""Told how much is done, from 0 to 1."""

CELLS = 400_000
"""Gaps drawn at once: they and what is computed of them stay in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What each run has to do.

    Raises:
        ConfigError: There is no work, or no interval to save it in.
    """

    costs: Costs
    interval_s: float
    productive_s: float
    """Useful work, which is played in whole intervals, at least one."""
    weibull_shape: float = 1.0
    """1: interruptions at random. Less: they cluster. More: they are regular."""

    def __post_init__(self) -> None:
        for name in ("interval_s", "productive_s", "weibull_shape"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} has to be a positive number, not {value}")
        if not 0.1 <= self.weibull_shape <= 100:
            raise ConfigError(
                f"weibull_shape is from 0.1 to 100, not {self.weibull_shape}: beyond that "
                "interruptions come all at once, or by the clock"
            )

    @property
    def segments(self) -> int:
        """Intervals of work in a run."""
        return max(1, round(self.productive_s / self.interval_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Where the paid seconds of each run went; one value a run. ``paid_s`` is their sum."""

    productive_s: Floats
    save_s: Floats
    rework_s: Floats
    restart_s: Floats
    waiting_s: Floats
    """Paid for nodes that waited for others to be had."""
    elapsed_s: Floats
    """From the first step to the last commit, as a calendar has it."""

    @property
    def paid_s(self) -> Floats:
        """What each run has paid for."""
        lost_s = self.save_s + self.rework_s + self.restart_s + self.waiting_s
        return self.productive_s + lost_s

    @property
    def slowdown(self) -> "Spread":
        """Paid over productive."""
        return Spread.of(self.paid_s / self.productive_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A figure over all runs."""

    mean: float
    sem: float
    """Standard error of the mean."""
    low: float
    """5 % of the runs stay below it."""
    high: float
    """5 % of the runs exceed it."""

    @classmethod
    def of(cls, values: Floats) -> "Spread":
        """Summarise one value a run."""
        low, high = np.quantile(values, [0.05, 0.95])
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(
            mean=float(np.mean(values)),
            sem=spread / math.sqrt(len(values)),
            low=float(low),
            high=float(high),
        )


def simulate(work: Work, *, runs: int, seed: int, progress: Progress = lambda _: None) -> Sample:
    """Play runs to their end. The same seed gives the same sample.

    Raises:
        ConfigError: The job makes next to no progress, or there is no run to play.
    """
    check_playable(work.costs, work.interval_s, work.productive_s, runs, has_fleet=False)
    draw = np.random.default_rng(seed)
    expected = work.productive_s * slowdown(work.costs, work.interval_s) / work.costs.mtbi_s
    width = max(16, min(CELLS, math.ceil(expected + 4 * math.sqrt(expected))))
    height = max(1, min(runs, CELLS // width))
    parts = []
    for first in range(0, runs, height):
        parts.append(_play(work, min(height, runs - first), width, draw))
        progress(min(1.0, (first + height) / runs))
    rework_s, restart_s = (np.concatenate(part) for part in zip(*parts, strict=True))
    productive_s = np.full(runs, work.segments * work.interval_s)
    # The last commit is awaited, and nothing else is done meanwhile.
    save_s = np.full(runs, work.segments * work.costs.stall_s + work.costs.commit_lag_s)
    return Sample(
        productive_s=productive_s,
        save_s=save_s,
        rework_s=rework_s,
        restart_s=restart_s,
        waiting_s=np.zeros(runs),
        elapsed_s=productive_s + save_s + rework_s + restart_s,
    )


def draw_starts(
    draw: np.random.Generator, work: Work, shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Draw how long each start runs, and how long it took to get there.

    A restart that is interrupted counts as a start that does not run.
    """
    costs = work.costs
    if work.weibull_shape == 1:
        gaps_s = draw.standard_exponential(shape) * costs.mtbi_s
    else:
        scale_s = costs.mtbi_s / math.gamma(1 + 1 / work.weibull_shape)
        gaps_s = draw.weibull(work.weibull_shape, shape) * scale_s
    restarts_s = np.full_like(gaps_s, costs.restart_s)
    if costs.can_restart_fail:
        np.minimum(gaps_s, restarts_s, out=restarts_s)
        gaps_s -= restarts_s
    return gaps_s, restarts_s


def committed(work: Work, running_s: Floats) -> Floats:
    """Return how many intervals are committed in stretches of running."""
    costs = work.costs
    segments = running_s - costs.commit_lag_s
    segments /= work.interval_s + costs.stall_s
    np.floor(segments, out=segments)
    return np.maximum(segments, 0.0, out=segments)


def _play(work: Work, runs: int, width: int, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Play a few runs; return their rework and their restarts."""
    rework_s, restart_s = np.zeros(runs), np.zeros(runs)
    to_do = np.full(runs, float(work.segments))
    going = np.arange(runs)
    is_first = True
    while going.size:
        running_s, restarts_s = draw_starts(draw, work, (going.size, width))
        if is_first:  # there is nothing to come back from
            running_s[:, 0] += restarts_s[:, 0] if work.costs.can_restart_fail else 0.0
            restarts_s[:, 0] = 0.0
        segments = committed(work, running_s)
        running_s -= segments * (work.interval_s + work.costs.stall_s)  # what is lost of it
        done = np.cumsum(segments, axis=1)
        last = np.sum(done < to_do[going, None], axis=1)  # the start in which the run ends
        is_before = np.arange(width) < last[:, None]
        rework_s[going] += np.einsum("ij,ij->i", running_s, is_before)
        is_before[:] = np.arange(width) <= last[:, None]
        restart_s[going] += np.einsum("ij,ij->i", restarts_s, is_before)
        to_do[going] -= done[:, -1]
        going = going[last == width]
        is_first = False
    return rework_s, restart_s
