"""How the ranks of one trainer on this node spend their steps, by its own word; pure.

Anybody on the node may have written it: what makes no sense is taken as not said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

MOST_RANKS = 16
"""Ranks of one trainer that are shown; what is said of more is not looked at."""

_MOST = 1e15
"""More steps or seconds than there will be."""


class Phase(StrEnum):
    """What a rank does."""

    DATA = "data"
    """Waits for its next batch."""
    COMPUTE = "compute"
    """All else in a step."""
    SAVE = "save"
    """Stands still for a save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFigures:
    """What one rank has spent since the first step of this start."""

    steps: float | None
    spent_s: Mapping[Phase, float]
    """Without the phases that it does not see."""


def ranks_of(said: object) -> tuple[RankFigures, ...]:
    """Return the figures by local rank; none where it is no list."""
    ranks = said[:MOST_RANKS] if isinstance(said, list) else []
    return tuple(_rank(one if isinstance(one, Mapping) else {}) for one in ranks)


def amount(value: object) -> float | None:
    """Return a number that makes sense as a count or a duration; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compared before it becomes a float: an int of hundreds of digits would not, and NaN is none.
    return float(value) if 0 <= value <= _MOST else None


def _rank(said: Mapping[str, object]) -> RankFigures:
    told = {phase: amount(said.get(f"{phase}_s")) for phase in Phase}
    return RankFigures(
        steps=amount(said.get("steps")),
        spent_s={phase: spent_s for phase, spent_s in told.items() if spent_s is not None},
    )
