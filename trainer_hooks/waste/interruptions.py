"""Every interruption of a real run: when, how it was told, what it cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trainer_hooks.waste.account import Kind, Segment
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.heard import Heard, Urgency
from trainer_hooks.waste.records import Outcome, Part

_STOPPED = {Outcome.PREEMPTED, Outcome.DRILLED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """One end of running, and the way back."""

    attempt: int
    at: float
    """The last that was heard of the attempt."""
    outcome: Outcome | None
    """How it left; None: it was killed."""
    noticed_s: float | None
    """How long before its end a stop notice was heard of; None: there was none."""
    answered_s: Mapping[str, float]
    """How long after that notice was in hand the ``flag`` told of it, the run had ``heard`` and
    ``stopped``, its last checkpoint was ``committed``, and it had ``left``; without what it did not
    come to, or nobody knows."""
    at_step: int
    """Steps that were finished."""
    resumed_step: int
    """Where the next attempt went on."""
    rework_gpu_s: float
    restart_gpu_s: float
    waiting_gpu_s: float
    back_s: float
    """Until the next attempt's first step, or until now."""
    parts_s: Mapping[Part, float]
    """Seconds of the way back by part, in the order in which they come; those alone that took time.
    """

    @property
    def lost_steps(self) -> int:
        """Steps to be done again."""
        return max(0, self.at_step - self.resumed_step)

    @property
    def cost_gpu_s(self) -> float:
        """All that it cost."""
        return self.rework_gpu_s + self.restart_gpu_s + self.waiting_gpu_s


def interruptions(
    attempts: Sequence[Attempt], segments: Sequence[Segment]
) -> tuple[Interruption, ...]:
    """Return what took down each attempt but the last.

    Who has finished, or was stopped by a person or a drill, was not interrupted.
    """
    return tuple(_interruptions(attempts, segments))


def _interruptions(
    attempts: Sequence[Attempt], segments: Sequence[Segment]
) -> Iterator[Interruption]:
    spent: dict[tuple[int, Kind], float] = {}
    parts_s: dict[int, dict[Part, float]] = {}
    for segment in segments:
        part = Part.WAITING if segment.kind is Kind.WAITING else segment.part
        if part is not None:
            taken = parts_s.setdefault(segment.attempt, {})
            taken[part] = taken.get(part, 0.0) + segment.seconds
        key = segment.attempt, segment.kind
        spent[key] = spent.get(key, 0.0) + segment.gpu_s
    for attempt, following in pairwise(attempts):
        if attempt.is_left_at_will:
            continue
        number, after = attempt.begin.attempt, following.begin.attempt
        last = attempt.last_at
        back = following.steps[0].began if following.steps else following.last_at
        yield Interruption(
            attempt=number,
            at=last,
            outcome=None if attempt.end is None else attempt.end.outcome,
            noticed_s=None if (heard := _heard(attempt)) is None else last - heard.at,
            answered_s=dict(_answers(attempt)),
            at_step=attempt.at_step,
            resumed_step=following.begin.resumed_step,
            rework_gpu_s=spent.get((number, Kind.REWORK), 0.0),
            restart_gpu_s=spent.get((after, Kind.RESTART), 0.0),
            waiting_gpu_s=spent.get((after, Kind.WAITING), 0.0),
            back_s=back - last,
            parts_s=parts_s.get(after, {}),
        )


def _heard(attempt: Attempt) -> Heard | None:
    return next((one for one in attempt.notices if one.urgency is Urgency.STOP), None)


def _answers(attempt: Attempt) -> Iterator[tuple[str, float]]:
    """Yield what became of an attempt's notice, and how long after it was in hand."""
    heard, end = _heard(attempt), attempt.end
    if heard is None or end is None or end.outcome not in _STOPPED:
        return  # who was killed, or failed, has not stopped for it
    since = heard.in_hand_at
    if since < heard.at:
        if heard.written_at is not None:
            yield "flag", heard.written_at - since
        yield "heard", heard.at - since
    stopped_at = attempt.steps[-1].ended if attempt.steps else attempt.begin.at
    yield "stopped", max(heard.at, stopped_at) - since
    committed_at = max((commit.at for commit in attempt.commits), default=0.0)
    if committed_at >= heard.at:
        yield "committed", committed_at - since
    yield "left", max(heard.at, end.at) - since
