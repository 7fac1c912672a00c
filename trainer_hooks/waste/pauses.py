"""Every pause of a real run: somebody stopped or drilled it, or it was done, and it went on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trainer_hooks.waste.account import Kind, Segment
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.records import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One end that somebody wanted, and the launch after it."""

    attempt: int
    at: float
    """The last that was heard of the attempt."""
    outcome: Outcome
    at_step: int
    """Steps that were finished."""
    resumed_step: int
    """Where the next attempt went on."""
    paused_s: float
    """Until somebody launched it again. It is in no bill, no R and no waste."""


def pauses(attempts: Sequence[Attempt], segments: Sequence[Segment]) -> tuple[Pause, ...]:
    """Return the pauses of a run, oldest first. One that still lasts is none yet."""
    return tuple(_pauses(attempts, segments))


def _pauses(attempts: Sequence[Attempt], segments: Sequence[Segment]) -> Iterator[Pause]:
    paused_s: dict[int, float] = {}
    for segment in segments:
        if segment.kind is Kind.PAUSED:
            before = paused_s.get(segment.attempt, 0.0)
            paused_s[segment.attempt] = before + segment.seconds
    for attempt, following in pairwise(attempts):
        if attempt.end is not None and attempt.is_left_at_will:
            yield Pause(
                attempt=attempt.begin.attempt,
                at=attempt.last_at,
                outcome=attempt.end.outcome,
                at_step=attempt.at_step,
                resumed_step=following.begin.resumed_step,
                paused_s=paused_s.get(following.begin.attempt, 0.0),
            )
