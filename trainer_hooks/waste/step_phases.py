"""What a step takes by phase, over all starts of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trainer_hooks.phases import Phase
from trainer_hooks.waste.attempt import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPhase:
    """One phase of a step, in seconds a step."""

    phase: Phase
    median_s: float
    """Of the rank in the middle."""
    most_s: float
    """Of the rank that takes longest."""
    rank: int
    """Which that was, in the newest start."""
    ranks: int
    """How many have told of it there."""


def step_phases(attempts: Sequence[Attempt]) -> tuple[StepPhase, ...]:
    """Return the phases that were seen, each over the starts that have noted it."""
    return tuple(_step_phases(attempts))


def _step_phases(attempts: Sequence[Attempt]) -> Iterator[StepPhase]:
    for phase in Phase:
        spent = [attempt.phases[phase] for attempt in attempts if phase in attempt.phases]
        if spent:
            steps = sum(one.steps for one in spent)
            yield StepPhase(
                phase=phase,
                median_s=sum(one.median_s for one in spent) / steps,
                most_s=sum(one.most_s for one in spent) / steps,
                rank=spent[-1].rank,
                ranks=spent[-1].ranks,
            )
