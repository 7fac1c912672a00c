"""What a real run's ledger says: goodput, waste, interruptions, checkpoints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import fmean

from trainer_hooks.waste.account import Accounts, Kind, Segment, account, timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.choice import Choice, choose
from trainer_hooks.waste.found import Found
from trainer_hooks.waste.history import History, Measured, history, lags_s
from trainer_hooks.waste.interruptions import Interruption, interruptions
from trainer_hooks.waste.interval import Costs
from trainer_hooks.waste.lineage import read_ledger
from trainer_hooks.waste.pauses import Pause, pauses
from trainer_hooks.waste.step_phases import StepPhase, step_phases

BUCKETS = 60
"""Stretches that goodput over time is shown in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the checkpoints are."""

    saves: int
    commits: int
    mean_lag_s: float | None
    longest_lag_s: float | None
    outlasted: int
    """Commits that came only after the next save was due: the storage does not keep up."""
    mean_interval_s: float | None
    """Between saves of one attempt, from begin to begin."""

    @property
    def uncommitted(self) -> int:
        """Saves of which nothing came."""
        return self.saves - self.commits


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a ledger says."""

    attempts: tuple[Attempt, ...]
    segments: tuple[Segment, ...]
    accounts: Accounts
    history: History
    interruptions: tuple[Interruption, ...]
    pauses: tuple[Pause, ...]
    health: Health
    findings: tuple[Found, ...]
    """What guards have found."""
    phases: tuple[StepPhase, ...]
    """What a step takes, in parts."""
    costs: Costs | None
    """C, D, R and M as measured; None while some are not known."""
    choice: Choice | None
    """The interval that they would ask for."""

    @property
    def began(self) -> float:
        """When the run began."""
        return self.attempts[0].begin.at

    @property
    def ended(self) -> float:
        """The last that is known of it."""
        return self.segments[-1].ended if self.segments else self.began

    @property
    def steps(self) -> int:
        """Steps that have lasted."""
        return self.attempts[-1].at_step

    @property
    def measured(self) -> Measured:
        """What a plan can be made from."""
        last = self.attempts[-1].begin
        return Measured(
            history=self.history,
            nodes=last.nodes,
            gpus_per_node=max(1, last.gpus // last.nodes),
        )

    @property
    def set_back_s(self) -> float:
        """By how much clocks were set back between attempts, all together."""
        return sum(attempt.moved_s for attempt in self.attempts)

    @property
    def torn_lines(self) -> int:
        """Lines of the ledger that could not be read."""
        return sum(attempt.torn_lines for attempt in self.attempts)

    def buckets(self) -> tuple["Bucket", ...]:
        """Return goodput over time."""
        return tuple(_buckets(self.segments, self.began, self.ended))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A stretch of the run, and the parts of it."""

    began: float
    ended: float
    shares: dict[Kind, float]


def make_report(root: Path) -> Report:
    """Read the ledger beside a run's checkpoints.

    Raises:
        ConfigError: There is none, or it cannot be read.
        UntrustedFileError: A file in it is none of ours.
    """
    attempts = read_ledger(root)
    segments = timeline(attempts)
    measured = history(attempts, segments)
    costs = Measured(history=measured).costs  # None of too young a run
    return Report(
        attempts=attempts,
        segments=segments,
        accounts=account(segments),
        history=measured,
        interruptions=interruptions(attempts, segments),
        pauses=pauses(attempts, segments),
        health=_health(attempts),
        findings=tuple(found for attempt in attempts for found in attempt.findings),
        phases=step_phases(attempts),
        costs=costs,
        choice=None if costs is None else choose(costs),
    )


def _health(attempts: Sequence[Attempt]) -> Health:
    lags = [lag for attempt in attempts for lag in lags_s(attempt)]
    gaps: list[float] = []
    outlasted = 0
    for attempt in attempts:
        committed = {commit.step: commit.at for commit in attempt.commits}
        for save, following in pairwise(attempt.saves):
            gaps.append(following.began - save.began)
            outlasted += committed.get(save.step, 0.0) > following.began
    return Health(
        saves=sum(len({save.step for save in attempt.saves}) for attempt in attempts),
        commits=sum(len({commit.step for commit in attempt.commits}) for attempt in attempts),
        mean_lag_s=fmean(lags) if lags else None,
        longest_lag_s=max(lags, default=None),
        outlasted=outlasted,
        mean_interval_s=fmean(gaps) if gaps else None,
    )


def _buckets(segments: Sequence[Segment], began: float, ended: float) -> Iterator[Bucket]:
    width_s = (ended - began) / BUCKETS
    first = 0  # of the segments, which follow each other, that may reach into the bucket
    for number in range(BUCKETS if segments else 0):
        low = began + number * width_s
        high = low + width_s
        spent = dict.fromkeys(Kind, 0.0)
        while first < len(segments) - 1 and segments[first].ended <= low:
            first += 1
        for segment in islice(segments, first, None):
            if segment.began >= high:
                break
            inside_s = min(segment.ended, high) - max(segment.began, low)
            if inside_s > 0:
                spent[segment.kind] += inside_s * segment.gpus
        paid = sum(spent.values()) or 1.0
        yield Bucket(
            began=low, ended=high, shares={kind: value / paid for kind, value in spent.items()}
        )
