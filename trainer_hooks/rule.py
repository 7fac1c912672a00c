"""The rule by which the last rank to publish decides a round for all.

Pure: no clock, no Store, no thread, so that a model checker can walk every interleaving of it.
``docs/agreement.md`` has the argument why it is right.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from trainer_hooks.at_stop import ASSUMED_S, AtStop, Figures, Outlook, Plan, plan, slowest
from trainer_hooks.decision import Decision, Outcome, Position, Published


def decide(records: Iterable[Published]) -> Decision:
    """Decide a round from what all ranks have published.

    The act boundary is the first one beyond ``last``, which is no boundary that any rank has
    passed: each rank's gate has been closed since it published. And everybody can still reach it.
    """
    records = list(records)
    in_force = [record for record in records if record.notice_id is not None]
    if not in_force:
        return Decision(outcome=Outcome.NONE)
    stops = [record for record in in_force if record.is_stop]
    furthest = max(record.position for record in records)
    causes = tuple(sorted({r.notice_id for r in in_force if r.notice_id is not None}))
    whole = Position.just_before(furthest.step + 1)  # half a step is no state to be saved
    if not stops:
        return Decision(outcome=Outcome.SAVE, last=whole, causes=causes)
    known = [record.left_s for record in stops if record.left_s is not None]
    planned = _plan(records, stops, furthest)
    stop = Decision(
        outcome=Outcome.STOP,
        last=furthest,
        left_s=min(known, default=None),
        causes=causes,
        at_stop=planned.at_stop,
        why=planned.why,
        is_drill=all(record.is_drill for record in stops),
    )
    if planned.at_stop is None:
        return replace(stop, outcome=Outcome.END, last=None)
    return replace(stop, last=whole) if planned.at_stop is AtStop.EMERGENCY else stop


def _plan(records: Sequence[Published], stops: Sequence[Published], furthest: Position) -> Plan:
    """Plan the stop by the slowest rank and the earliest deadline."""
    if any(stop.is_roll_back for stop in stops):
        return Plan(at_stop=AtStop.NONE, why="a roll-back keeps nothing of what was reached")
    ranks = [(r.position, r.figures) for r in records if r.figures is not None]
    if len(ranks) < len(records) or furthest < Position(0):
        return Plan(at_stop=AtStop.FINISH, why="not every rank trains yet, or says how it does")
    until = _common_end([figures for _, figures in ranks], furthest)
    in_flight = [f.in_flight_s for _, f in ranks if f.in_flight_s is not None]
    left_s = [stop.assumed_s if stop.left_s is None else stop.left_s for stop in stops]
    return plan(
        Outlook(
            left_s=min(left_s),
            is_known=all(stop.left_s is not None for stop in stops),
            to_stop_s=max((furthest.step + 1 - at.step) * f.step_s for at, f in ranks),
            to_end_s=None
            if until is None
            else max((until - at.step) * f.step_s for at, f in ranks),
            saves_s=slowest([figures.saves_s for _, figures in ranks]),
            in_flight_s=min(in_flight, default=None),
        )
    )


def _common_end(figures: Sequence[Figures], furthest: Position) -> int | None:
    """Return the step at which all ranks end, if it is the same one and lies ahead of all."""
    ends = {rank.until for rank in figures}
    until = ends.pop() if len(ends) == 1 else None
    return until if until is not None and until > furthest.step else None


def patience_s(left_s: float | None) -> float:
    """Return how long a round waits for its last rank: 5 % of what is left, 0.5 s to 5 s.

    An unknown deadline is taken as ``ASSUMED_S``.
    """
    return min(5.0, max(0.5, 0.05 * (ASSUMED_S if left_s is None else left_s)))
