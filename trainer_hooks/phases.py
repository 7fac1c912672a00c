"""Where the time of one rank's steps goes: waiting for data, computing, saving; pure sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

MOST_HERE = 16
"""Ranks of one node that are told of one by one: more devices has no machine that clouds rent out
(AWS p2.16xlarge has 16, docs.aws.amazon.com/ec2/latest/instancetypes, 2026-11-30)."""


class Phase(StrEnum):
    """What a rank does."""

    DATA = "data"
    """Waits for its next batch, inside a step."""
    COMPUTE = "compute"
    """All else in a step: the model, the collectives, the optimizer."""
    SAVE = "save"
    """Stands still for a save, between steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTimes:
    """What one rank has spent since its first step, in seconds."""

    steps: int
    data_s: float | None
    """None where it is not seen: the batches do not come from ``hooks.batches``."""
    compute_s: float
    """With what was waited for data, where that is not seen."""
    save_s: float

    def of(self, phase: Phase) -> float | None:
        """Return the seconds of one phase."""
        return {
            Phase.DATA: self.data_s,
            Phase.COMPUTE: self.compute_s,
            Phase.SAVE: self.save_s,
        }[phase]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How one phase is among ranks."""

    phase: Phase
    steps: int
    """The least that any of the ranks has finished."""
    ranks: int
    median_s: float
    most_s: float
    rank: int
    """The rank that has spent most."""


class Phases:
    """Adds up one rank's phases. The training thread adds, any thread may read.

    A reader may find a step half added; the next look has it.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._steps_s = self._data_s = self._save_s = 0.0
        self._step_data_s = 0.0
        self._sees_data = False

    def note_wait(self, seconds: float) -> None:
        """Add a wait for a batch, in the step under way."""
        self._step_data_s += seconds
        self._sees_data = True

    def begin_step(self) -> None:
        """Leave out what was fetched between the steps."""
        self._step_data_s = 0.0

    def end_step(self, seconds: float) -> None:
        """Add a step that was finished, altogether."""
        self._steps += 1
        self._steps_s += seconds
        self._data_s += self._step_data_s

    def note_save(self, seconds: float) -> None:
        """Add a time for which a save has held the training up."""
        self._save_s += seconds

    @property
    def times(self) -> PhaseTimes:
        """The sums by now."""
        return PhaseTimes(
            steps=self._steps,
            data_s=self._data_s if self._sees_data else None,
            compute_s=max(0.0, self._steps_s - self._data_s),
            save_s=self._save_s,
        )


def spreads(by_rank: Sequence[PhaseTimes]) -> list[Spread]:
    """Return how each phase is among ranks 0, 1 and so on; without those that do not see it."""
    found = []
    for phase in Phase:
        spent = [one.of(phase) for one in by_rank]
        told = [(one_s, rank) for rank, one_s in enumerate(spent) if one_s is not None]
        if told:
            most_s, rank = max(told, key=lambda pair: pair[0])
            found.append(
                Spread(
                    phase=phase,
                    steps=min(one.steps for one in by_rank),
                    ranks=len(told),
                    median_s=sorted(told)[len(told) // 2][0],
                    most_s=most_s,
                    rank=rank,
                )
            )
    return found
