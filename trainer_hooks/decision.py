"""What ranks publish in a round, and what they agree on: values, and how they travel."""

import json
import math
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, Self

from trainer_hooks.at_stop import ASSUMED_S, AtStop, Figures
from trainer_hooks.errors import AgreementError
from trainer_hooks.flag import ROLL_BACK, StopNotice


class Position(NamedTuple):
    """Where a rank's training thread is: the boundary it has passed last.

    Every rank passes the same boundaries in the same order, which is all that the agreement
    needs; it never counts them.
    """

    step: int
    tick: int = 0

    @classmethod
    def just_before(cls, step: int) -> Self:
        """Return what lies between a step's beginning and all that comes before it."""
        return cls(step, -1)

    @property
    def last_step(self) -> int:
        """The step that the boundary begins, or lies in."""
        return self.step if self.tick >= 0 else self.step - 1


JOINED = Position(-2)
"""Registered, before the restore."""
RESTORING = Position(-1)
"""Passed by a rank that goes on to restore a checkpoint."""


class Outcome(StrEnum):
    """What a round came to."""

    STOP = "stop"
    """The node of some rank goes away: act at the boundary, as ``Decision.at_stop`` says."""
    SAVE = "save"
    """Advice only: all ranks bring the next save forward to the boundary."""
    END = "end"
    """A node goes away, and the run ends well before that: nobody stops before ``until``."""
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
    is_drill: bool = False
    is_roll_back: bool = False
    left_s: float | None = None
    """Seconds to this rank's own deadline at the time of publishing; None when unknown.

    A duration, because the clocks of two nodes need not agree.
    """
    assumed_s: float = ASSUMED_S
    """What is taken for it when it is unknown."""
    figures: Figures | None = None
    """What this rank has measured; None if it can't tell."""

    @classmethod
    def of(
        cls, rank: int, position: Position, notice: StopNotice | None, figures: Figures | None
    ) -> Self:
        """Return what a rank says, which has a notice in force or none."""
        said = cls(rank=rank, position=position, figures=figures)
        if notice is None:
            return said
        return replace(
            said,
            notice_id=notice.id,
            is_stop=notice.is_stop,
            is_drill=notice.is_drill,
            is_roll_back=notice.is_roll_back,
            left_s=notice.left_s,
            assumed_s=notice.window_s,
        )

    def encode(self) -> str:
        """Return one line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def decode_all(cls, lines: bytes) -> list[Self]:
        """Read what all ranks have appended to the round's key."""
        records = [json.loads(line) for line in lines.decode().splitlines()]
        return [cls(**{**record, **_typed(record)}) for record in records]


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
    at_stop: AtStop | None = None
    """What is done there; None unless it is a stop."""
    why: str = ""
    """The numbers that say so, for people."""
    is_drill: bool = False
    """Nothing but drills is behind it."""

    @property
    def is_roll_back(self) -> bool:
        """Whether nothing of what was reached is to be kept."""
        return any(cause.startswith(ROLL_BACK) for cause in self.causes)

    def __str__(self) -> str:
        words = [f"decision={self.outcome}", *(["drill"] if self.is_drill else [])]
        words += [] if self.at_stop is None else [f"at_stop={self.at_stop}"]
        words += [] if self.last is None else [f"last_step={self.last.last_step}"]
        words += [] if self.left_s is None else [f"left_s={self.left_s:.1f}"]
        words += [f"notice_id={','.join(self.causes) or None}"]
        return " ".join([*words, f"({self.why})"] if self.why else words)

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
                "at_stop": None | str() as at_stop,
                "why": str(why),
                "is_drill": bool(is_drill),
            } if (
                outcome in set(Outcome)
                and (last is not None) == (outcome in _ACTS)
                and (at_stop is not None) == (outcome == Outcome.STOP)
                and (at_stop is None or at_stop in set(AtStop))
                and all(isinstance(cause, str) for cause in causes)
                and (left_s is None or 0 <= left_s < math.inf)
            ):
                return cls(
                    outcome=Outcome(outcome),
                    last=None if last is None else Position(*last),
                    left_s=left_s,
                    causes=tuple(causes),
                    at_stop=None if at_stop is None else AtStop(at_stop),
                    why=why,
                    is_drill=is_drill,
                )
        raise AgreementError(f"the Store holds no decision of ours: {value!r:.80}")


ABORTED = Decision(outcome=Outcome.ABORT)


def _typed(record: dict[str, Any]) -> dict[str, object]:
    """Return what JSON has made lists and objects of."""
    figures = record["figures"]
    return {
        "position": Position(*record["position"]),
        "figures": figures and Figures(**{**figures, "saves_s": tuple(figures["saves_s"])}),
    }


def _parse(value: bytes) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
