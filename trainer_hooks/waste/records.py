"""What a ledger holds: one JSON object a line, of one of a few kinds.

Instants are seconds of Unix time, and within one attempt they run on evenly, whatever the clock is
set to meanwhile.

======= ============================================================================================
what    fields
======= ============================================================================================
begin   schema, at, attempt, token, gpus, nodes, resumed_step: an attempt, and where it goes on
part    part, began, ended: a part of the restart, or waiting for capacity
steps   first, end, began, ended, straggler_s: the steps from first up to, not including, end
save    step, began, ended, waited_s: the stall of a save of the state after ``step`` steps
commit  step, at: that save has become a checkpoint
notice  at, id, urgency: a stop or advice was heard of
finding at, guard, step, text: a guard has found something
phase   at, phase, steps, ranks, median_s, most_s, rank: what a phase of all steps so far has taken
end    at, outcome, step: this attempt has left by itself
======= ============================================================================================
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from trainer_hooks.untrusted import Json
from trainer_hooks.waste.found import Found, found_from_json
from trainer_hooks.waste.heard import Heard, heard_from_json
from trainer_hooks.waste.phase_spent import PhaseSpent, phase_from_json

SCHEMA = 1

_FAR_S = 1e11
"""The year 5138: no instant of ours is later."""

_MANY = 10**15
"""More steps, GPUs or attempts than there will be."""


class Part(StrEnum):
    """What a restart is made of, and what is no restart: waiting."""

    DETECT = "detect"
    PROVISION = "provision"
    PULL = "pull"
    SCHEDULE = "schedule"
    AWAY = "away"
    """From the last that was heard of an attempt to the begin of the next: the four above, where
    nobody has told them apart."""
    INIT = "init"
    """From the process's begin to ``TrainerHooks``: imports, the model, the process group."""
    RENDEZVOUS = "rendezvous"
    """Meeting the other ranks."""
    LOAD = "load"
    """Finding, verifying and loading a checkpoint."""
    WARMUP = "warmup"
    """To the end of the first step, but for what a step takes."""
    WAITING = "waiting"
    """For capacity. Not part of the restart."""


class Outcome(StrEnum):
    """How an attempt has left by itself; one that was killed says nothing."""

    FINISHED = "finished"
    PREEMPTED = "preempted"
    DRILLED = "drilled"
    """Ended by a drill, which says nothing of M, and whose new start says nothing of R."""
    ROLLED_BACK = "rolled_back"
    FAILED = "failed"
    STOPPED = "stopped"
    """By a person, or by what no other start would change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """An attempt begins."""

    at: float
    attempt: int
    token: str
    gpus: int
    nodes: int
    resumed_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """A part of the restart, or waiting."""

    part: Part
    began: float
    ended: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps that were finished one after the other."""

    first: int
    end: int
    """The step after the last."""
    began: float
    ended: float
    straggler_s: float = 0.0
    """What of this time was waited for a slow rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The stall of a save."""

    step: int
    """Steps that the saved state has finished."""
    began: float
    ended: float
    waited_s: float = 0.0
    """What of this time was waited for the save before to be committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A save has become a checkpoint."""

    step: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """An attempt leaves by itself."""

    at: float
    outcome: Outcome
    step: int


Record: TypeAlias = Begin | Spent | Steps | Saved | Committed | Heard | Found | PhaseSpent | End


def to_json(record: Record) -> dict[str, Json]:
    """Return a record as it is written."""
    fields: dict[str, Json] = {"what": _NAMES[type(record)]}
    if isinstance(record, Begin):
        fields["schema"] = SCHEMA
    for name in record.__slots__:
        value = getattr(record, name)
        fields[name] = value.value if isinstance(value, StrEnum) else value
    return fields


def from_json(data: Json) -> Record | None:
    """Return a record that was written; None for what is none, or from a later version."""
    match data:
        case {
            "what": "begin",
            "schema": int(schema),
            "at": int() | float() as at,
            "attempt": int(attempt),
            "token": str(token),
            "gpus": int(gpus),
            "nodes": int(nodes),
            "resumed_step": int(step),
        } if schema == SCHEMA and _are_numbers(schema, attempt, gpus, nodes, step) and _is_time(at):
            return Begin(
                at=at,
                attempt=attempt,
                token=token,
                gpus=max(1, gpus),
                nodes=max(1, nodes),
                resumed_step=step,
            )
        case {
            "what": "part",
            "part": str(part),
            "began": int() | float() as began,
            "ended": int() | float() as ended,
        } if part in set(Part) and _is_time(began, ended):
            return Spent(part=Part(part), began=began, ended=ended)
        case {
            "what": "steps",
            "first": int(first),
            "end": int(end),
            "began": int() | float() as began,
            "ended": int() | float() as ended,
            "straggler_s": int() | float() as straggler_s,
        } if _are_numbers(first, end) and first < end and _is_time(began, ended, straggler_s):
            slow_s = min(max(0.0, straggler_s), ended - began)
            return Steps(first=first, end=end, began=began, ended=ended, straggler_s=slow_s)
    return _rest_from_json(data)


def _rest_from_json(data: Json) -> Record | None:
    match data:
        case {
            "what": "save",
            "step": int(step),
            "began": int() | float() as began,
            "ended": int() | float() as ended,
            "waited_s": int() | float() as waited_s,
        } if _are_numbers(step) and _is_time(began, ended, waited_s):
            waited_s = min(max(0.0, waited_s), ended - began)
            return Saved(step=step, began=began, ended=ended, waited_s=waited_s)
        case {"what": "commit", "step": int(step), "at": int() | float() as at} if _are_numbers(
            step
        ) and _is_time(at):
            return Committed(step=step, at=at)
        case {
            "what": "end",
            "at": int() | float() as at,
            "outcome": str(outcome),
            "step": int(step),
        } if outcome in set(Outcome) and _are_numbers(step) and _is_time(at):
            return End(at=at, outcome=Outcome(outcome), step=step)
    return heard_from_json(data) or found_from_json(data) or phase_from_json(data)


_NAMES: dict[type[Record], str] = {
    Begin: "begin",
    Spent: "part",
    Steps: "steps",
    Saved: "save",
    Committed: "commit",
    Heard: "notice",
    Found: "finding",
    PhaseSpent: "phase",
    End: "end",
}


def _is_time(began: float, ended: float | None = None, seconds: float = 0.0) -> bool:
    """Tell whether these are instants in their order, and a duration. A bool is none, nor nan."""
    ended = began if ended is None else ended
    if any(isinstance(value, bool) for value in (began, ended, seconds)):
        return False
    return 0 <= began <= ended <= _FAR_S and math.isfinite(seconds)


def _are_numbers(*values: int) -> bool:
    return all(not isinstance(value, bool) and 0 <= value <= _MANY for value in values)
