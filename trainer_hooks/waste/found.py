"""What a guard has found, as a ledger holds it."""

from dataclasses import dataclass

from trainer_hooks.untrusted import Json

TEXT_LIMIT = 1000
"""Characters of a text that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something is wrong with the training, or with some of its ranks."""

    at: float
    guard: str
    step: int
    """Steps finished when it was found."""
    text: str


def found_from_json(data: Json) -> Found | None:
    """Return what was found; None if the record is of another kind, or damaged."""
    match data:
        case {
            "what": "finding",
            "at": int() | float() as at,
            "guard": str(guard),
            "step": int(step),
            "text": str(text),
        } if not isinstance(at, bool) and not isinstance(step, bool):
            if not (0 <= at <= 1e11 and 0 <= step <= 10**15):
                return None
            return Found(at=at, guard=guard[:TEXT_LIMIT], step=step, text=text[:TEXT_LIMIT])
    return None
