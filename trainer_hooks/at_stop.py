"""What is done at an agreed stop, by the odds that it is done in time. Pure.

Save times are taken for log-normal, as they were measured in this start of the job, by the rank
whose saves take longest. The fewer were measured, the wider they are taken to spread.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist, fmean, median
from typing import Self

LEAVING_S = 2.0
"""What leaving takes by itself: the last word, the barrier, the interpreter's end."""

LEAST_S = 5.0
"""What a stop gets in any case: a cloud may let a node outlive its deadline."""

ASSUMED_S = 30.0
"""The window of a stop without a deadline: the shortest that a cloud announces by itself (Google
Compute Engine Spot), and what a kubelet leaves a pod by default (cloud-contract 0, 2026-11-30)."""

ENOUGH = 0.9
"""Odds from which a save is begun for the stop (design.md 4, 2026-11-30)."""

HOPELESS = 0.1
"""Odds below which nobody waits for the save in flight: the node's last seconds cost more."""

UNMEASURED_S = 60.0
"""The time of a save while none was measured: the article's own case, a blocking save of 60 s
(theory N15, 2026-11-30). On purpose too long for a window of two minutes."""

SPREAD = 0.5
"""Standard deviation of the logarithm that is assumed; theory 3.5 (2026-11-30) measures 0.3."""

SPREAD_WEIGHT = 3
"""How many measured saves that assumption counts for."""

WELL_BEFORE = 0.5
"""The part of the time left within which a run has to end to be let go on to its end."""


class AtStop(StrEnum):
    """What is done at the stop."""

    FINISH = "finish"
    """The save in flight is committed, if there is one; none is begun."""
    EMERGENCY = "emergency"
    """The step reached is saved, after the save in flight, and both are committed."""
    NONE = "none"
    """Nothing would be done in time: leave at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one rank has measured, and says in a round."""

    step_s: float
    """Seconds that a step takes, the slow ones of late."""
    until: int | None
    """Where the run ends, if it may go on to its end."""
    saves_s: tuple[float, ...]
    """Seconds from the beginning to the commit of the last saves."""
    in_flight_s: float | None
    """Seconds since the save in flight began; None if none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What lies before all ranks, as the slowest of them sees it."""

    left_s: float
    """Seconds to the deadline, or to the one assumed."""
    is_known: bool
    """Whether that deadline was announced."""
    to_stop_s: float
    """Seconds until all ranks stand at the end of the step that is furthest begun."""
    to_end_s: float | None
    """Seconds until all stand at ``until``; None if they can't or may not go on to it."""
    saves_s: tuple[float, ...]
    in_flight_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do, and the numbers that say so."""

    at_stop: AtStop | None
    """None: no stop, the run goes on to ``until``, and ends well before the deadline."""
    why: str


@dataclass(frozen=True, slots=True)
class SaveTimes:
    """How long saves take: the distribution of the logarithm of their seconds."""

    log_s: NormalDist

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """Learn from saves that were measured, or assume one of ``UNMEASURED_S``."""
        logs = [math.log(max(one, 0.001)) for one in seconds or [UNMEASURED_S]]
        mean, count = fmean(logs), len(logs)
        squares = SPREAD_WEIGHT * SPREAD**2 + sum((one - mean) ** 2 for one in logs)
        # The next one strays from the true mean, and so does the mean of those measured.
        variance = squares / (SPREAD_WEIGHT + count - 1) * (1 + 1 / count)
        return cls(NormalDist(mean, math.sqrt(variance)))

    def within(self, seconds: float) -> float:
        """Return the odds that a save takes no longer."""
        return self.log_s.cdf(math.log(seconds)) if seconds > 0 else 0.0

    def rest_within(self, seconds: float, elapsed_s: float) -> float:
        """Return the odds that a save which began ``elapsed_s`` ago takes no longer from now."""
        unended = 1 - self.within(elapsed_s)
        if seconds <= 0 or unended < 1e-9:
            return 0.0  # it has taken longer than any save does: nothing is known of its end
        return (self.within(elapsed_s + seconds) - self.within(elapsed_s)) / unended

    def both_within(self, seconds: float, elapsed_s: float, pause_s: float) -> float:
        """Return the odds for one in flight and another after it, which begins after a pause."""
        slices = 16
        before, odds = self.within(elapsed_s), 0.0
        for number in range(slices):
            share = before + (1 - before) * (number + 0.5) / slices
            if share < 1:
                ends_s = math.exp(self.log_s.inv_cdf(share)) - elapsed_s
                odds += self.within(seconds - max(ends_s, pause_s)) / slices
        return odds


def slowest(saves_s: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the history of the rank whose saves take longest, be they measured or assumed."""
    return max(saves_s, key=lambda own: (SaveTimes.of(own).log_s.inv_cdf(ENOUGH), own))


def plan(outlook: Outlook) -> Plan:
    """Choose what is done at the stop."""
    times = SaveTimes.of(outlook.saves_s)
    usable_s = max(outlook.left_s, LEAST_S) - LEAVING_S
    if _ends_well_before(outlook, times, usable_s):
        return Plan(at_stop=None, why=_numbers(outlook, usable_s))
    elapsed_s, to_stop_s = outlook.in_flight_s, outlook.to_stop_s
    if elapsed_s is None:
        finish, emergency = 0.0, times.within(usable_s - to_stop_s)
    else:
        finish = times.rest_within(usable_s, elapsed_s)
        emergency = times.both_within(usable_s, elapsed_s, to_stop_s)
    # A save in flight is given up only by what is known: one that was never measured may be a
    # short one, and a deadline that was never announced may be late.
    is_known = outlook.is_known and bool(outlook.saves_s)
    is_hopeful = finish >= HOPELESS or (elapsed_s is not None and not is_known)
    if emergency >= ENOUGH:
        chosen = AtStop.EMERGENCY
    else:
        chosen = AtStop.FINISH if is_hopeful else AtStop.NONE
    numbers = _numbers(outlook, usable_s)
    return Plan(at_stop=chosen, why=f"{numbers} finish={finish:.2f} emergency={emergency:.2f}")


def _ends_well_before(outlook: Outlook, times: SaveTimes, usable_s: float) -> bool:
    """Tell whether the end fits well in, with a save that falls due on the way and the final one.

    Only before a deadline that was announced: of an assumed one nobody knows what is well before.
    """
    if outlook.to_end_s is None or not outlook.is_known:
        return False
    saves = 2 if outlook.in_flight_s is None else 3
    return times.within((WELL_BEFORE * usable_s - outlook.to_end_s) / saves) >= ENOUGH


def _numbers(outlook: Outlook, usable_s: float) -> str:
    measured = len(outlook.saves_s)
    save_s = median(outlook.saves_s or [UNMEASURED_S])
    words = [
        f"usable_s={usable_s:.1f}{'' if outlook.is_known else ' (assumed)'}",
        f"to_stop_s={outlook.to_stop_s:.1f}",
        f"save_s={save_s:.2f}",
        f"measured={measured}" if measured else "measured=0 (assumed)",
    ]
    words += [] if outlook.to_end_s is None else [f"to_end_s={outlook.to_end_s:.1f}"]
    words += [] if outlook.in_flight_s is None else [f"in_flight_s={outlook.in_flight_s:.1f}"]
    return " ".join(words)
