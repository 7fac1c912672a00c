"""A clock that was set back between two attempts: their records are put in the order they came.

Within an attempt instants run on evenly. The next one may begin on a node whose clock is hours
behind, and all that it does would seem to lie in the time of the one before, and be counted there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.records import Outcome, Record

R = TypeVar("R", bound=Record)

_INSTANTS = {"at", "began", "ended", "received_at", "written_at"}

_IN_ORDER = frozenset(Outcome) - {Outcome.FAILED}
"""Ends after which nothing more came of an attempt. One that has failed may have been fenced off by
its successor, and have outlived its begin."""


def in_sequence(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return attempts, oldest first, each begun no earlier than the one before it had ended.

    Only where the clock must have been set back: where an attempt begins before its predecessor
    did, or before that one left in order. Else both were there for a while, as in a fencing.
    """
    ordered: list[Attempt] = []
    for attempt in attempts:
        back_s = _set_back_s(ordered[-1], attempt) if ordered else 0.0
        ordered.append(_later(attempt, back_s) if back_s else attempt)
    return ordered


def _set_back_s(before: Attempt, attempt: Attempt) -> float:
    has_left = before.end is not None and before.end.outcome in _IN_ORDER
    if attempt.begin.at < before.begin.at or has_left:
        return max(0.0, before.last_at - attempt.begin.at)
    return 0.0


def _later(attempt: Attempt, by_s: float) -> Attempt:
    return replace(
        attempt,
        moved_s=by_s,
        begin=_moved(attempt.begin, by_s),
        parts=_all_moved(attempt.parts, by_s),
        steps=_all_moved(attempt.steps, by_s),
        saves=_all_moved(attempt.saves, by_s),
        commits=_all_moved(attempt.commits, by_s),
        notices=_all_moved(attempt.notices, by_s),
        findings=_all_moved(attempt.findings, by_s),
        phases={phase: _moved(spent, by_s) for phase, spent in attempt.phases.items()},
        end=None if attempt.end is None else _moved(attempt.end, by_s),
    )


def _all_moved(records: Iterable[R], by_s: float) -> list[R]:
    return [_moved(record, by_s) for record in records]


def _moved(record: R, by_s: float) -> R:
    instants = _INSTANTS & {field.name for field in fields(record)}
    known = {name: getattr(record, name) for name in instants}
    later = {name: at + by_s for name, at in known.items() if at is not None}
    return replace(record, **later)
