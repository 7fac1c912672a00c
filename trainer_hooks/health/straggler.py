"""Which rank holds the others up: by its own time against the median of all; pure.

A rank is late in a report if it takes half as long again as the median, and if that is more than a
tenth of a step: a slow rank whose lateness nobody notices is no straggler. It is accused when it
was late in three of its last four reports, and has cost the others a fifth of a second by then:
what a busy host takes from a rank for a moment is no fault of its node. It is cleared when it was
late in at most one. A time that is the same on all ranks, whatever it is, accuses nobody.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_low

RATIO = 1.5
"""Own time in medians from which on a rank is late."""

OF_A_STEP = 0.1
"""The part of a step that it has to be late by."""

LATE_OF = (3, 4)
"""Late reports that accuse, of so many."""


LEAST_LOST_S = 0.2
"""What a rank has to have cost the others since it began to be late, in seconds. On two cores with
eight processes, 10,000 steps of 17 ms had four spells of 16 in which a healthy rank came 4 ms late
(2026-11-30): 0.06 s each. Who is 30 ms late in each step costs as much in seven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnReport:
    """What one rank says of its last few steps: the medians, so that one slow step is none."""

    number: int
    """Counts this rank's reports: the same one is not judged twice."""
    steps: int
    """How many it stands for."""
    own_s: float
    step_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How the ranks stand to each other at one look."""

    score: float
    """Own time of the slowest in medians: 1 is as fast as the others."""
    accused: Mapping[int, float]
    """Seconds by which each accused rank holds up each step."""
    is_news: bool
    """Whether others are accused than at the look before."""


class Stragglers:
    """Remembers who was late. One rank has it, in one thread."""

    def __init__(self) -> None:
        self._late: dict[int, deque[bool]] = {}
        self._lost_s: dict[int, float] = {}
        """What each has cost since it began to be late."""
        self._judged: dict[int, int] = {}
        self._accused: set[int] = set()

    def judge(self, reports: Mapping[int, OwnReport]) -> Lateness:
        """Look at the newest report of every rank; of an odd number of two the faster is median."""
        own_s = median_low([report.own_s for report in reports.values()])
        step_s = median_low([report.step_s for report in reports.values()])
        before = set(self._accused)
        for rank, report in reports.items():
            if self._judged.get(rank) != report.number:
                self._judged[rank] = report.number
                late_s = report.own_s - own_s
                is_late = late_s > OF_A_STEP * step_s and report.own_s > RATIO * own_s
                self._note(rank, late_s * report.steps if is_late else 0.0)
        slowest_s = max(report.own_s for report in reports.values())
        return Lateness(
            score=slowest_s / own_s if own_s > 0 else 1.0,
            accused={rank: max(0.0, reports[rank].own_s - own_s) for rank in self._accused},
            is_news=self._accused != before,
        )

    def _note(self, rank: int, lost_s: float) -> None:
        """Note what a rank has cost in a report; 0 where it was not late."""
        enough, of = LATE_OF
        late = self._late.setdefault(rank, deque(maxlen=of))
        late.append(lost_s > 0.0)
        if sum(late) <= 1:
            self._accused.discard(rank)
            self._lost_s[rank] = lost_s
            return
        self._lost_s[rank] += lost_s
        if sum(late) >= enough and self._lost_s[rank] >= LEAST_LOST_S:
            self._accused.add(rank)
