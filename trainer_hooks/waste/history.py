"""What a ledger says of C, D, R and M."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.account import Kind, Segment
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.estimate import (
    Dispersion,
    MtbiEstimate,
    Uptime,
    dispersion,
    estimate_mtbi,
    mean_of_late_s,
    scaled_mtbi_s,
    typical_stall_s,
)
from trainer_hooks.waste.interval import Costs
from trainer_hooks.waste.records import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was measured, oldest first."""

    uptimes: tuple[Uptime, ...]
    stalls_s: tuple[float, ...]
    lags_s: tuple[float, ...]
    restarts_s: tuple[float, ...]
    """From an interruption to the next step, waiting for capacity and for a person aside."""

    @property
    def mtbi(self) -> MtbiEstimate:
        """M.

        Raises:
            ConfigError: Nothing has run yet.
        """
        return estimate_mtbi(self.uptimes)

    @property
    def interruptions(self) -> int:
        """How many M is from. Before the first it is as if half a one had come."""
        return sum(uptime.is_interrupted for uptime in self.uptimes)

    @property
    def dispersion(self) -> Dispersion | None:
        """Whether the interruptions came at random, if that can be said."""
        return dispersion(self.uptimes)

    def costs(self) -> Costs:
        """Return C, D, R and M as they were measured.

        Raises:
            ConfigError: There is no save, or no running time, to measure.
        """
        if not self.stalls_s:
            raise ConfigError("the ledger has no save yet, so C is not known")
        return Costs(
            mtbi_s=self.mtbi.mtbi_s,
            stall_s=max(typical_stall_s(self.stalls_s), 1e-6),
            commit_lag_s=mean_of_late_s(self.lags_s) if self.lags_s else 0.0,
            restart_s=mean_of_late_s(self.restarts_s) if self.restarts_s else 0.0,
            can_restart_fail=False,  # M is of running time alone
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a run has measured, and how large it was."""

    history: History
    nodes: int | None = None
    gpus_per_node: int | None = None

    @property
    def costs(self) -> Costs | None:
        """C, D, R and M; None while some can't be known."""
        try:
            return self.history.costs()
        except ConfigError:  # too young a run
            return None


def history(
    attempts: Sequence[Attempt], segments: Sequence[Segment], *, sized: int | None = None
) -> History:
    """Measure what can be measured from a run's attempts and their timeline.

    Args:
        attempts: Oldest first.
        segments: Their timeline.
        sized: For a job of so many GPUs: running times are scaled to it, and what saves of another
            size took is left out once there are some of this. None: all as it was.
    """
    alike = [attempt for attempt in attempts if sized in {None, attempt.begin.gpus}]
    savers = alike if any(attempt.saves for attempt in alike) else attempts
    return History(
        uptimes=tuple(_uptimes(attempts, sized)),
        stalls_s=tuple(stall_s for attempt in savers for stall_s in _stalls_s(attempt)),
        lags_s=tuple(lag for attempt in savers for lag in lags_s(attempt)),
        restarts_s=tuple(_restarts_s(attempts, segments)),
    )


def _stalls_s(attempt: Attempt) -> list[float]:
    """Return how long each save itself has held training up, without waiting for the one before."""
    return [save.ended - save.began - save.waited_s for save in attempt.saves]


def lags_s(attempt: Attempt) -> list[float]:
    """Return how long after its stall each save of an attempt was committed."""
    ended = {save.step: save.ended for save in attempt.saves}
    return [
        max(0.0, commit.at - ended[commit.step])
        for commit in attempt.commits
        if commit.step in ended
    ]


def is_interrupted(attempt: Attempt, *, is_last: bool) -> bool:
    """Tell whether an interruption has ended this attempt: no drill, no end of the run."""
    if attempt.end is None:
        return not is_last
    return attempt.end.outcome in {Outcome.PREEMPTED, Outcome.FAILED}


def _uptimes(attempts: Sequence[Attempt], sized: int | None) -> list[Uptime]:
    return [
        Uptime(
            running_s=scaled_mtbi_s(
                attempt.steps[-1].ended - attempt.steps[0].began,
                attempt.begin.gpus,
                attempt.begin.gpus if sized is None else sized,
            ),
            is_interrupted=is_interrupted(attempt, is_last=attempt is attempts[-1]),
        )
        for attempt in attempts
        if attempt.steps  # a start that never ran was interrupted in its restart
    ]


def _restarts_s(attempts: Sequence[Attempt], segments: Sequence[Segment]) -> list[float]:
    """Return the restart after each interruption, all starts until a step ran taken together.

    After a person's stop, or a drill, the next start is the first again: how long they let it be
    is no R.
    """
    restarts: list[float] = []
    spent = {attempt.begin.attempt: 0.0 for attempt in attempts}
    for segment in segments:
        if segment.kind is Kind.RESTART:
            spent[segment.attempt] += segment.seconds
    since_s, has_run = 0.0, False
    for attempt in attempts:
        since_s += spent[attempt.begin.attempt]
        if attempt.steps:
            if has_run:
                restarts.append(since_s)
            has_run, since_s = True, 0.0
        if attempt.is_left_at_will:
            has_run, since_s = False, 0.0
    return restarts
