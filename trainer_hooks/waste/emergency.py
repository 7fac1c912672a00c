"""Whether a save that begins at the notice is committed before the node goes."""

import math
from dataclasses import dataclass
from enum import StrEnum

from trainer_hooks.at_stop import ENOUGH

POINTS = 64
"""Of the sum below, in each direction: its error is below 1e-4."""


class Verdict(StrEnum):
    """What to make of a window."""

    SAVES = "saves"
    """Likely enough for the trainer to begin it: no step is done again."""
    RISKY = "risky"
    """More likely than not, which is too little to give up the save in flight for."""
    INFEASIBLE = "infeasible"
    """Only periodic saves help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How long a cloud leaves a node between the notice and its end."""

    name: str
    notice_s: float
    source: str


CLOUD_WINDOWS = (
    Window(name="AWS Spot", notice_s=120.0, source="EC2 guide, Spot interruption notices"),
    Window(name="Azure Spot", notice_s=30.0, source="Scheduled Events, Preempt: at least 30 s"),
    Window(name="GCP Spot", notice_s=30.0, source="Compute Engine, Spot VMs: best effort"),
    Window(name="GKE pod on Spot", notice_s=15.0, source="GKE, graceful termination of Spot nodes"),
    Window(name="no notice", notice_s=0.0, source="every cloud, on a bad day"),
)
"""From the clouds' documentation (read 2026-11-30)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """What a save from the notice on goes through."""

    median_s: float
    """From its begin until all data is durable, on the slowest rank."""
    spread: float = 0.3
    """Standard deviation of the logarithm of that time."""
    step_s: float = 0.0
    """A notice falls anywhere within a step, which is finished first."""
    poll_s: float = 1.0
    """A notice falls anywhere between two polls."""
    commit_s: float = 1.0


def odds(save: Save, notice_s: float) -> float:
    """Return the chance that a save is committed within a window.

    P(U(0, poll) + U(0, step) + LogN(save) + commit <= window), by the midpoint rule.
    """
    left_s = notice_s - save.commit_s
    total = 0.0
    polls = POINTS if save.poll_s else 1
    steps = POINTS if save.step_s else 1
    for poll in range(polls):
        detected_s = left_s - (poll + 0.5) / polls * save.poll_s
        total += sum(
            _has_ended(save, detected_s - (step + 0.5) / steps * save.step_s)
            for step in range(steps)
        )
    return total / polls / steps


def verdict(chance: float) -> Verdict:
    """Return what to make of a chance."""
    if chance >= ENOUGH:
        return Verdict.SAVES
    return Verdict.RISKY if chance >= 0.5 else Verdict.INFEASIBLE


def _has_ended(save: Save, after_s: float) -> float:
    """Return the chance that the save takes at most this long."""
    if after_s <= 0:
        return 0.0
    return 0.5 * math.erfc(math.log(save.median_s / after_s) / save.spread / math.sqrt(2))
