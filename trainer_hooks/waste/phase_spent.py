"""How the ranks have spent their steps by phase, as a ledger holds it."""

from dataclasses import dataclass

from trainer_hooks.phases import Phase
from trainer_hooks.untrusted import Json

_MOST_S = 1e11
_MANY = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSpent:
    """One phase of all steps since an attempt's first, over the ranks that have told of it.

    The last of an attempt counts: each holds what the one before it held.
    """

    at: float
    phase: Phase
    steps: int
    ranks: int
    median_s: float
    most_s: float
    rank: int
    """The rank that has spent most."""


def phase_from_json(data: Json) -> PhaseSpent | None:
    """Return what was spent; None if the record is of another kind, or damaged."""
    match data:
        case {
            "what": "phase",
            "at": int() | float() as at,
            "phase": str(phase),
            "steps": int(steps),
            "ranks": int(ranks),
            "median_s": int() | float() as median_s,
            "most_s": int() | float() as most_s,
            "rank": int(rank),
        } if phase in set(Phase) and not any(
            isinstance(value, bool) for value in (at, steps, ranks, median_s, most_s, rank)
        ):
            is_sound = 0 <= at <= _MOST_S and 0 <= median_s <= most_s <= _MOST_S
            if not (is_sound and 0 < steps <= _MANY and 0 <= rank <= _MANY and 0 < ranks <= _MANY):
                return None
            return PhaseSpent(
                at=at,
                phase=Phase(phase),
                steps=steps,
                ranks=ranks,
                median_s=median_s,
                most_s=most_s,
                rank=rank,
            )
    return None
