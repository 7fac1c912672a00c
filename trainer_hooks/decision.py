"""What all ranks agree on, and the rule by which the last rank to publish decides it.

Pure: no clock, no Store, no thread, so that a model checker can walk every interleaving of it.
``docs/agreement.md`` has the argument why it is right.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import NamedTuple, Self

from trainer_hooks.errors import AgreementError


class Position(NamedTuple):
    """Where a rank's training thread is: the boundary it has passed last.

    Every rank passes the same boundaries in the same order, which is all that the agreement
    needs; it never counts them.
    """

    step: int
    tick: int = 0


JOINED = Position(-2)
"""Registered, before the restore."""
RESTORING = Position(-1)
"""Passed by a rank that goes on to restore a checkpoint."""


class Outcome(StrEnum):
    """What a round came to."""

    STOP = "stop"
    """The node of some rank goes away: act at the boundary, save nothing new, leave."""
    SAVE = "save"
    """Advice only: all ranks bring the next save forward to the boundary."""
    NONE = "none"
    """The notice was withdrawn before the decision: nobody does anything."""
    ABORT = "abort"
    """Some rank did not answer in time: everyone trains on, and a new round starts."""


_ACTS = {Outcome.STOP, Outcome.SAVE}
"""Only these have a boundary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What one rank says in a round."""

    rank: int
    position: Position
    notice_id: str | None = None
    """The notice in force on this rank's node, if there is one."""
    is_stop: bool = False
    left_s: float | None = None
    """Seconds to this rank's own deadline at the time of publishing; None when unknown.

    A duration, because the clocks of two nodes need not agree.
    """

    def encode(self) -> str:
        """Return one line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def decode_all(cls, lines: bytes) -> list[Self]:
        """Read what all ranks have appended to the round's key."""
        records = [json.loads(line) for line in lines.decode().splitlines()]
        return [cls(**{**record, "position": Position(*record["position"])}) for record in records]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The one value of a round, the same on all ranks."""

    outcome: Outcome
    last: Position | None = None
    """The furthest boundary any rank had passed; all act at the first boundary beyond it."""
    left_s: float | None = None
    """The earliest deadline of all ranks, as seconds from the decision."""
    causes: tuple[str, ...] = ()
    """The ids of the notices behind it."""

    def __str__(self) -> str:
        words = [f"decision={self.outcome}"]
        words += [] if self.last is None else [f"last_step={self.last.step}"]
        words += [] if self.left_s is None else [f"left_s={self.left_s:.1f}"]
        return " ".join([*words, f"notice_id={','.join(self.causes) or None}"])

    def encode(self) -> str:
        """Return JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Read back what ``encode`` wrote.

        Raises:
            AgreementError: The value is not ours: another program writes to our keys.
        """
        match _parse(value):
            case {
                "outcome": str(outcome),
                "last": None | [int(), int()] as last,
                "left_s": None | int() | float() as left_s,
                "causes": list(causes),
            } if (
                outcome in set(Outcome)
                and (last is not None) == (outcome in _ACTS)
                and all(isinstance(cause, str) for cause in causes)
            ):
                return cls(
                    outcome=Outcome(outcome),
                    last=None if last is None else Position(*last),
                    left_s=left_s,
                    causes=tuple(causes),
                )
        raise AgreementError(f"the Store holds no decision of ours: {value!r:.80}")


ABORTED = Decision(outcome=Outcome.ABORT)


def _parse(value: bytes) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def decide(records: Iterable[Published]) -> Decision:
    """Decide a round from what all ranks have published.

    The act boundary is the first one beyond the furthest position: nobody has passed it, because
    each rank's gate has been closed since it published, and everybody can still reach it.
    """
    records = list(records)
    in_force = [record for record in records if record.notice_id is not None]
    if not in_force:
        return Decision(outcome=Outcome.NONE)
    stops = [record for record in in_force if record.is_stop]
    known = [record.left_s for record in stops if record.left_s is not None]
    return Decision(
        outcome=Outcome.STOP if stops else Outcome.SAVE,
        last=max(record.position for record in records),
        left_s=min(known, default=None),
        causes=tuple(
            sorted({record.notice_id for record in in_force if record.notice_id is not None})
        ),
    )


def patience_s(left_s: float | None) -> float:
    """Return how long a round waits for its last rank: 5 % of what is left, 0.5 s to 5 s.

    An unknown deadline is taken as 30 s, the shortest that a cloud announces by itself
    (Google Compute Engine Spot; cloud-contract 0, 2026-11-30).
    """
    return min(5.0, max(0.5, 0.05 * (30.0 if left_s is None else left_s)))
