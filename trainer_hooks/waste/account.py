"""Where the paid time of a real run went: each second has one name, and none is left over.

paid = productive + save + rework + restart + waiting + straggler + other

What is not paid has a name too: ``paused``.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import TypeAlias

from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.records import Part, Saved, Spent, Steps


class Kind(StrEnum):
    """What paid time was spent on."""

    PRODUCTIVE = "productive"
    """Steps that are in the run's history, each counted once."""
    SAVE = "save"
    """Stalls of saves that are."""
    REWORK = "rework"
    """Steps and stalls that an interruption has undone."""
    RESTART = "restart"
    WAITING = "waiting"
    """For capacity."""
    STRAGGLER = "straggler"
    """Waiting for a slow rank, within steps that have lasted."""
    OTHER = "other"
    """Between the steps: evaluations, logging, and what nobody has a name for."""
    PAUSED = "paused"
    """From where a person stopped the run, or it had finished, to where somebody launched it again.
    Nobody has paid for it."""


PAID = tuple(kind for kind in Kind if kind is not Kind.PAUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of time with one name."""

    began: float
    ended: float
    gpus: int
    attempt: int
    kind: Kind
    part: Part | None = None
    """Of a restart."""

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.ended - self.began

    @property
    def gpu_s(self) -> float:
        """What was paid for it."""
        return self.seconds * self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """GPU-seconds by what they were spent on."""

    kinds: dict[Kind, float]
    """Of those that are paid."""
    parts: dict[Part, float]
    """Of the restarts."""
    paused_s: float = 0.0
    """Seconds, and not GPU-seconds, in which nobody wanted the run to run."""

    @property
    def paid(self) -> float:
        """All together."""
        return math.fsum(self.kinds.values())

    @property
    def goodput(self) -> float:
        """The part that was productive."""
        return self.share(Kind.PRODUCTIVE)

    def share(self, kind: Kind) -> float:
        """Return the part of what was paid that went into this."""
        return self.kinds[kind] / self.paid if self.paid else 0.0


def account(segments: Iterable[Segment]) -> Accounts:
    """Add up a timeline."""
    kinds: dict[Kind, list[float]] = {kind: [] for kind in PAID}
    parts: dict[Part, list[float]] = {part: [] for part in Part if part is not Part.WAITING}
    paused_s: list[float] = []
    for segment in segments:
        if segment.kind is Kind.PAUSED:
            paused_s.append(segment.seconds)
            continue
        kinds[segment.kind].append(segment.gpu_s)
        if segment.part is not None:
            parts[segment.part].append(segment.gpu_s)
    return Accounts(
        kinds={kind: math.fsum(spent) for kind, spent in kinds.items()},
        parts={part: math.fsum(spent) for part, spent in parts.items()},
        paused_s=math.fsum(paused_s),
    )


def timeline(attempts: Sequence[Attempt]) -> tuple[Segment, ...]:
    """Give every second from the first begin to the last sign of life one name.

    Where records overlap, because an attempt was taken for dead, the older one counts.
    """
    segments: list[Segment] = []
    at = attempts[0].begin.at
    is_paused = False
    for attempt in attempts:
        for segment in _attempt(_Cover(attempt, at, is_paused=is_paused)):
            segments.append(segment)
            at = segment.ended
        is_paused = attempt.is_left_at_will
    return tuple(segments)


_Named: TypeAlias = tuple[float, Kind, Part | None]
"""Seconds, and what they were spent on."""


class _Cover:
    """Names the time of one attempt, from an instant on, without a gap.

    Args:
        attempt: The attempt.
        at: Where the one before it ends.
        is_paused: Whether that one was left at will, so that nobody was to start this one.
    """

    def __init__(self, attempt: Attempt, at: float, *, is_paused: bool) -> None:
        self.attempt = attempt
        self.at = at
        self._is_paused = is_paused
        self._warm_until = attempt.steps[0].began if attempt.steps else math.inf

    def until(self, end: float, kind: Kind, part: Part | None = None) -> Iterator[Segment]:
        """Name what is left up to an instant."""
        if end > self.at:
            begin = self.attempt.begin
            yield Segment(
                began=self.at,
                ended=end,
                gpus=begin.gpus,
                attempt=begin.attempt,
                kind=kind,
                part=part,
            )
            self.at = end

    def unnamed(self, end: float) -> Iterator[Segment]:
        """Name what nobody has recorded, by where it lies."""
        begin = min(end, self.attempt.begin.at)
        if self._is_paused:
            yield from self.until(begin, Kind.PAUSED)
        yield from self.until(begin, Kind.RESTART, Part.AWAY)
        yield from self.until(min(end, self._warm_until), Kind.RESTART, Part.INIT)
        yield from self.until(end, Kind.OTHER)


def _attempt(cover: _Cover) -> Iterator[Segment]:
    attempt = cover.attempt
    items: list[Spent | Steps | Saved] = [*attempt.parts, *attempt.steps, *attempt.saves]
    items.sort(key=lambda item: item.began)
    usual_s = _usual_step_s(attempt.steps)
    for item in items:
        yield from cover.unnamed(item.began)
        whole_s, began = item.ended - item.began, cover.at
        named_s = max(0.0, item.ended - began)
        scale = named_s / whole_s if whole_s else 0.0
        spent = 0.0
        for seconds, kind, part in _names(item, attempt, usual_s):
            spent += seconds
            end = item.ended if spent >= whole_s else min(item.ended, began + spent * scale)
            yield from cover.until(end, kind, part)
    yield from cover.unnamed(attempt.last_at)


def _names(item: Spent | Steps | Saved, attempt: Attempt, usual_s: float) -> Iterator[_Named]:
    seconds = item.ended - item.began
    match item:
        case Spent(part=Part.WAITING):
            yield seconds, Kind.WAITING, None
        case Spent(part=part):
            yield seconds, Kind.RESTART, part
        case Saved(step=step):
            yield seconds, Kind.SAVE if attempt.is_kept(step) else Kind.REWORK, None
        case Steps():
            warmup_s = 0.0
            if item is attempt.steps[0] and item.end - item.first == 1 and usual_s:
                warmup_s = max(0.0, seconds - usual_s)
            yield warmup_s, Kind.RESTART, Part.WARMUP
            kept = _kept(item, attempt)
            slow_s = min(item.straggler_s, seconds - warmup_s) * kept
            yield (seconds - warmup_s) * kept - slow_s, Kind.PRODUCTIVE, None
            yield slow_s, Kind.STRAGGLER, None
            yield (seconds - warmup_s) * (1 - kept), Kind.REWORK, None


def _kept(steps: Steps, attempt: Attempt) -> float:
    """Return which part of these steps is in the run's history."""
    if attempt.kept_steps is None:
        return 1.0
    kept = min(max(attempt.kept_steps - steps.first, 0), steps.end - steps.first)
    return kept / (steps.end - steps.first)


def _usual_step_s(steps: Sequence[Steps]) -> float:
    """Return what a step takes once all is warm; 0 while nobody knows."""
    rest = [(some.ended - some.began) / (some.end - some.first) for some in steps[1:]]
    return fmean(rest) if rest else 0.0
