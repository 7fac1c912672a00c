"""How a run stands, in the words of each who is told: the program, launcher, ranks and watcher."""

import os
from dataclasses import dataclass, replace

from trainer_hooks.at_stop import Figures
from trainer_hooks.decision import Decision, Outcome
from trainer_hooks.flag import USER
from trainer_hooks.launched import told_grace_s
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.pace import Pace
from trainer_hooks.recorder import Recorder
from trainer_hooks.report import Report
from trainer_hooks.results import RankState
from trainer_hooks.saves import Saves
from trainer_hooks.status import Progress
from trainer_hooks.waste.records import Outcome as Ended

IN_DRILL = "REPRIEVE_IN_DRILL"
"""Set to 1 for a job on a simulated node, whose notice is as real to it as any: the ledger alone
has to know better."""


def outcome_of(
    step: int, saves: Saves | None, stop: Decision | None, *, is_finished: bool
) -> RunOutcome:
    """Return how the run stands, for the program around it. Any thread may call it.

    Args:
        step: Steps finished.
        saves: What it saves, once it has restored.
        stop: The stop that this rank has come to.
        is_finished: Whether ``until`` is reached and committed.
    """
    return RunOutcome(
        is_preempted=stop is not None and not is_finished,
        is_finished=is_finished,
        step=step,
        committed_step=None if saves is None else saves.committed_step,
        at_stop=None if stop is None else stop.at_stop,
        failed_saves=0 if saves is None else saves.failed_in_a_row,
    )


def last_word(outcome: RunOutcome) -> RankState:
    """Return what the launcher is told by a rank that leaves in order."""
    if outcome.is_finished:
        return RankState.FINISHED
    return RankState.SAVED if outcome.is_preempted else RankState.RUNNING


def end_of(stop: Decision | None, *, is_finished: bool, is_rolled_back: bool = False) -> Ended:
    """Return what the ledger is told by a rank that leaves in order."""
    if stop is None or is_finished:
        return Ended.FINISHED
    if is_rolled_back:
        return Ended.ROLLED_BACK
    if set(stop.causes) == {USER}:
        return Ended.STOPPED  # no interruption: nothing was taken away
    is_drill = stop.is_drill or os.environ.get(IN_DRILL) == "1"
    return Ended.DRILLED if is_drill else Ended.PREEMPTED


def figures_of(pace: Pace, until: int | None, saves: Saves | None) -> Figures | None:
    """Return what the ranks plan a stop by; None before it is known. Any thread may call it.

    Args:
        pace: How long steps take.
        until: Where the run ends, if a stop may leave it to its end.
        saves: What it saves, once it has restored.
    """
    step_s = pace.step_s
    if saves is None or step_s is None:
        return None
    return Figures(step_s=step_s, until=until, saves_s=saves.took_s, in_flight_s=saves.in_flight_s)


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Who knows how a run goes, besides what it saves: steps, instants and costs."""

    pace: Pace
    report: Report
    recorder: Recorder


def progress_of(
    step: int, saves: Saves | None, stop: Decision | None, witnesses: Witnesses
) -> Progress:
    """Return where the training is, for the watcher. Any thread may call it.

    Args:
        step: Steps finished.
        saves: What it saves, once it has restored.
        stop: What all ranks have agreed on, if they have.
        witnesses: Of this run.
    """
    stop_step = None
    if stop is not None and stop.outcome is Outcome.STOP:
        stop_step = step if stop.last is None else max(step, stop.last.last_step + 1)
    progress = Progress(
        step=step,
        stop_step=stop_step,
        step_s=witnesses.pace.step_s,
        noticed_at=witnesses.recorder.stop_heard_at,
        ranks=witnesses.recorder.node_phases,
        stopped_at=witnesses.report.instant("stopped"),
        grace_s=told_grace_s(),
    )
    if saves is None:
        return progress
    stall_s, commit_lag_s = saves.last_save_s
    spent = witnesses.recorder.spent
    return replace(
        progress,
        committed_step=saves.committed_step,
        committed_at=saves.committed_at,
        stall_s=stall_s,
        commit_lag_s=commit_lag_s,
        save_every_steps=saves.every_steps,
        attempt=saves.attempt.number,
        verified_at=saves.verified.at,
        paid_gpu_s=None if spent is None else spent.paid,
        productive_gpu_s=None if spent is None else spent.productive,
        straggler_score=witnesses.recorder.straggler_score,
        straggler_s=witnesses.recorder.straggler_s,
    )
