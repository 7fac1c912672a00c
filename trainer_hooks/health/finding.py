"""What a guard has found, as all ranks are told of it."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


class Guard(StrEnum):
    """Who has found it."""

    STRAGGLER = "straggler"
    DIGEST = "digest"
    LOSS = "loss"
    GRAD_NORM = "grad_norm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something is wrong with some ranks."""

    guard: Guard
    step: int
    """Steps finished when it was found, by the rank that says so."""
    ranks: tuple[int, ...]
    """Who is concerned; all of them, where nobody can be named alone."""
    is_certain: bool = True
    """Whether those ranks, and no others, are at fault."""
    good_step: int | None = None
    """The last check, in steps finished, at which all was well; None where nobody knows."""
    text: str
    """The same for people."""

    def encode(self) -> str:
        """Return the finding as a line for the Store."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def decode_all(cls, lines: bytes) -> list["Finding"]:
        """Return what was encoded. Only ranks of this run write it."""
        return [
            cls(**(said | {"guard": Guard(said["guard"]), "ranks": tuple(said["ranks"])}))
            for said in map(json.loads, lines.splitlines())
        ]
