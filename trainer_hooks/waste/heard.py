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
    received_at: float | None = None
    """When the watcher had it in hand, by its clock; None of a notice that it has not told."""
    written_at: float | None = None
    """When it put it into the flag file."""

    @property
    def in_hand_at(self) -> float:
        """When it was in hand: as the watcher says, if that can be."""
        stages = (self.received_at, self.written_at, self.at)
        known = [at for at in stages if at is not None]
        return known[0] if known == sorted(known) else self.at


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
            return Heard(
                at=at,
                id=id_,
                urgency=Urgency(urgency),
                received_at=_instant(more.get("received_at")),
                written_at=_instant(more.get("written_at")),
            )
    return None


def _instant(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= _FAR_S else None
