"""Runs at random on nodes that go several at a time, and are not to be had again at once.

Once bursts are taken together, what they cost in rework is little. What they cost is waiting: a job
of fixed size stands still, paying for the nodes it has left, until its last node is replaced. A job
that may shrink goes on.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.montecarlo import (
    Floats,
    Progress,
    Sample,
    Work,
    committed,
    draw_starts,
)
from trainer_hooks.waste.playable import check_playable


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The nodes of a job, and how they come and go.

    Raises:
        ConfigError: The numbers do not fit together.
    """

    nodes: int
    least_nodes: int
    """With how many of them the job still runs, proportionally slower; ``nodes``: fixed size."""
    burst: float = 1.0
    """Nodes that one interruption takes, in the mean; geometrically distributed."""
    capacity_wait_s: float = 0.0
    """Until lost nodes are replaced, in the mean; exponentially distributed, all at once."""
    is_released_while_waiting: bool = False
    """Whether nodes that wait are given back, and not paid."""

    def __post_init__(self) -> None:
        if not 1 <= self.least_nodes <= self.nodes:
            raise ConfigError(
                f"a job of {self.nodes} nodes can't do with {self.least_nodes}: from 1 to all"
            )
        if not 1 <= self.burst <= self.nodes:
            raise ConfigError(f"an interruption takes 1 to {self.nodes} nodes, not {self.burst}")
        if not 0 <= self.capacity_wait_s < math.inf:
            raise ConfigError(f"capacity_wait_s has to be a duration, not {self.capacity_wait_s}")


def simulate_fleet(
    work: Work, fleet: Fleet, *, runs: int, seed: int, progress: Progress = lambda _: None
) -> Sample:
    """Play runs to their end. The same seed gives the same sample, in seconds of the whole fleet.

    A job that runs with fewer nodes takes what has come back at its next restart, or stops for
    it, with everything saved, where that is worth it.

    Raises:
        ConfigError: The job makes next to no progress, or there is no run to play.
    """
    check_playable(work.costs, work.interval_s, work.productive_s, runs, has_fleet=True)
    played = _Runs(work, fleet, runs, np.random.default_rng(seed))
    while played.going.size:
        played.start()
        progress(played.progress)
    return played.sample()


class _Runs:
    """All runs, each at the same number of interruptions. Times are seconds of one node."""

    def __init__(self, work: Work, fleet: Fleet, runs: int, draw: np.random.Generator) -> None:
        self._work = work
        self._fleet = fleet
        self._draw = draw
        self.going = np.arange(runs)
        self._has_begun = False
        self._nodes = np.full(runs, float(fleet.nodes))
        self._total_s = work.segments * work.interval_s * fleet.nodes
        self._to_do_s = np.full(runs, self._total_s)
        self._save_s, self._rework_s = np.zeros(runs), np.zeros(runs)
        self._restart_s, self._waiting_s = np.zeros(runs), np.zeros(runs)
        self._elapsed_s = np.zeros(runs)

    @property
    def progress(self) -> float:
        """How far the runs are, from 0 to 1."""
        return float(1 - np.mean(np.maximum(self._to_do_s, 0)) / self._total_s)

    def start(self) -> None:
        """Play every unfinished run up to its next interruption and beyond, or to its end."""
        work, going = self._work, self.going
        running_s, restart_s = draw_starts(self._draw, work, (going.size,))
        if not self._has_begun:
            self._has_begun = True
            running_s += restart_s if work.costs.can_restart_fail else 0.0
            restart_s[:] = 0.0
        nodes = self._nodes[going]
        back_s = self._draw.standard_exponential(going.size) * self._fleet.capacity_wait_s
        is_back = back_s < running_s + restart_s
        is_growing = is_back & self._is_worth_growing(nodes)
        np.minimum(restart_s, back_s, out=restart_s, where=is_growing)
        np.copyto(running_s, back_s - restart_s, where=is_growing)
        whole_s = work.interval_s + work.costs.stall_s
        last_s = work.costs.stall_s + work.costs.commit_lag_s
        segments = committed(work, running_s)
        segments[is_growing] = np.maximum(running_s[is_growing] - last_s, 0.0) / whole_s
        needed = self._to_do_s[going] / (nodes * work.interval_s)
        is_ended = segments >= needed
        segments = np.where(is_ended, needed, segments)
        lost_s = np.where(is_ended, 0.0, running_s - segments * whole_s)
        saving_s = segments * work.costs.stall_s
        saving_s += np.where(is_ended, work.costs.commit_lag_s, np.where(is_growing, lost_s, 0.0))
        lost_s[is_growing] = 0.0
        self._to_do_s[going] -= segments * nodes * work.interval_s
        self._save_s[going] += saving_s * nodes
        self._rework_s[going] += lost_s * nodes
        self._restart_s[going] += restart_s * nodes
        took_s = restart_s + segments * work.interval_s + saving_s + lost_s
        self._elapsed_s[going] += took_s
        self._nodes[going[is_growing]] = self._fleet.nodes
        self.going = going[~is_ended]
        if self._fleet.capacity_wait_s:
            is_struck = ~is_ended & ~is_growing
            self._lose(going[is_struck], is_back[is_struck])

    def _is_worth_growing(self, nodes: Floats) -> NDArray[np.bool_]:
        """Tell which runs should stop for nodes that come back; so does ``replay``."""
        costs, whole = self._work.costs, self._fleet.nodes
        stop_s = costs.stall_s + costs.commit_lag_s + costs.restart_s
        is_worth: NDArray[np.bool_] = (whole - nodes) * costs.mtbi_s > whole * stop_s
        return is_worth

    def _lose(self, struck: NDArray[np.intp], is_back: NDArray[np.bool_]) -> None:
        """Take nodes from runs, where all were back or not; let wait what has too few left."""
        fleet = self._fleet
        whole = float(fleet.nodes)
        nodes = np.where(is_back, whole, self._nodes[struck])
        nodes = np.maximum(nodes - self._draw.geometric(1 / fleet.burst, struck.size), 0.0)
        is_short = nodes < fleet.least_nodes
        waits_s = self._draw.standard_exponential(struck.size) * fleet.capacity_wait_s
        waits_s[~is_short] = 0.0
        if not fleet.is_released_while_waiting:
            self._waiting_s[struck] += waits_s * nodes
        self._elapsed_s[struck] += waits_s
        self._nodes[struck] = np.where(is_short, whole, nodes)

    def sample(self) -> Sample:
        """Return where the time went."""
        whole = float(self._fleet.nodes)
        return Sample(
            productive_s=np.full(len(self._to_do_s), self._total_s / whole),
            save_s=self._save_s / whole,
            rework_s=self._rework_s / whole,
            restart_s=self._restart_s / whole,
            waiting_s=self._waiting_s / whole,
            elapsed_s=self._elapsed_s,
        )
