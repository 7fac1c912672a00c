"""A notice that was heard of, as a ledger holds it."""

from dataclasses import dataclass
from enum import StrEnum

from trainer_hooks.untrusted import Json

_FAR_S = 1e11
"""The year 5138: no instant of ours is later."""


class Urgency(StrEnum):
    """What a notice asks for, in the words of the flag file."""

    STOP = "stop"
    ADVISORY = "advisory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A notice was heard of."""

    at: float
    id: str
    urgency: Urgency = Urgency.STOP


def heard_from_json(data: Json) -> Heard | None:
    """Return what was heard of; None if the record is of another kind, or damaged.

    Records of earlier versions have no urgency: nearly all were of stops.
    """
    match data:
        case {"what": "notice", "at": int() | float() as at, "id": str(id_), **more}:
            urgency = more.get("urgency", Urgency.STOP)
            if isinstance(at, bool) or not 0 <= at <= _FAR_S:
                return None
            if not isinstance(urgency, str) or urgency not in set(Urgency):
                return None
            return Heard(at=at, id=id_, urgency=Urgency(urgency))
    return None
