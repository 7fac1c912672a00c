"""A report in words."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from trainer_hooks.untrusted import shortened
from trainer_hooks.waste.account import PAID, Kind
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.interruptions import Interruption
from trainer_hooks.waste.pauses import Pause
from trainer_hooks.waste.records import Outcome
from trainer_hooks.waste.report import Report
from trainer_hooks.waste.words import amount, bar, digits, duration, regularity, share

THIRD = 1 / 3

SHOWN = 50
"""Interruptions that are listed; the rest is counted."""

_ENDS = {
    Outcome.PREEMPTED: "preempted",
    Outcome.DRILLED: "a drill",
    Outcome.ROLLED_BACK: "roll-back",
    Outcome.FAILED: "failed",
    Outcome.FINISHED: "finished",
    Outcome.STOPPED: "stopped",
    None: "killed",
}

_LAST = {
    Outcome.PREEMPTED: "was preempted",
    Outcome.DRILLED: "was ended by a drill",
    Outcome.ROLLED_BACK: "was rolled back",
    Outcome.FAILED: "has failed",
    Outcome.FINISHED: "has finished",
    Outcome.STOPPED: "was stopped",
}


def report_text(report: Report) -> str:
    """Say what a ledger says."""
    sections = [_run(report), _paid(report), _measured(report), _checkpoints(report)]
    if report.phases:
        sections.insert(2, _phases(report))
    if report.interruptions:
        sections.append(_interrupted(report))
    if report.findings:
        sections.append(_found(report))
    drills = [pause for pause in report.pauses if pause.outcome is Outcome.DRILLED]
    if others := [pause for pause in report.pauses if pause not in drills]:
        sections.append(_paused("Paused for {}, which nobody has paid for", others))
    if drills:
        sections.append(
            _paused("Drilled, and launched again after {}: in no bill, no M and no R", drills)
        )
    return "\n\n".join("\n".join(section) for section in sections)


def _run(report: Report) -> Iterator[str]:
    count, lost = len(report.attempts), len(report.interruptions)
    drilled = sum(pause.outcome is Outcome.DRILLED for pause in report.pauses)
    apart = f"{len(report.pauses) - drilled or 'none'} paused" + (
        f", {drilled} drilled" if drilled else ""
    )
    yield (
        f"{report.steps:,} steps in {duration(report.ended - report.began)}, "
        f"{count} start{'s' * (count > 1)}, {lost or 'none'} interrupted, "
        f"{apart}; the last {_how_last(report.attempts[-1])}"
    )
    yield f"  from {_clock(report.began)} to {_clock(report.ended)}"
    if report.torn_lines:
        yield f"  {report.torn_lines} lines of the ledger could not be read"
    if report.set_back_s:
        yield (
            f"  clocks were set back by {duration(report.set_back_s)} between starts; what came "
            "after is taken to have been later"
        )


def _paid(report: Report) -> Iterator[str]:
    accounts = report.accounts
    hours = amount(accounts.paid / 3600)
    yield f"Goodput {share(accounts.goodput)} of {hours} paid GPU-hours"
    for kind in PAID:
        fraction = accounts.share(kind)
        yield f"  {kind:<11}{share(fraction):>7}  {bar(fraction)}"
    for part, spent in sorted(accounts.parts.items(), key=lambda item: -item[1]):
        if spent:
            yield f"    restart: {part:<11}{share(spent / accounts.paid):>7}"
    if 1 - accounts.goodput > THIRD:
        worst = max((kind for kind in PAID if kind is not Kind.PRODUCTIVE), key=accounts.share)
        yield f"  more than a third is wasted, most of it on {worst}: that is where to begin"


def _phases(report: Report) -> Iterator[str]:
    ranks = max(one.ranks for one in report.phases)
    whose = f", the median of {ranks} ranks and the one that takes longest"
    if ranks == 1:  # guards would tell of the others
        whose = ", of rank 0 alone" * (report.attempts[-1].begin.gpus > 1)
    yield f"A step by phase{whose}"
    for one in report.phases:
        slowest = f", {duration(one.most_s)} on rank {one.rank}" if one.ranks > 1 else ""
        yield f"  {one.phase:<8}{duration(one.median_s):>9}{slowest}"


def _measured(report: Report) -> Iterator[str]:
    costs, choice, history = report.costs, report.choice, report.history
    if costs is None or choice is None:
        yield "C, D, R and M are not known yet: that takes a save and some running"
        return
    yield "Measured"
    low, high = history.mtbi.quantile_s(0.05), history.mtbi.quantile_s(0.95)
    count = history.interruptions
    yield (
        f"  M  {duration(costs.mtbi_s):<9} between interruptions, of {count or 'none yet'}; "
        f"{duration(low)} to {duration(high)} with a chance of 90 %"
    )
    yield f"  C  {duration(costs.stall_s):<9} stall of a save, of {len(history.stalls_s)}"
    yield _known("D", costs.commit_lag_s, "to the commit", len(history.lags_s))
    yield _known("R", costs.restart_s, "restart", len(history.restarts_s))
    yield f"  they ask for a save every {duration(choice.chosen_s)} of training ({choice.bound})"
    if history.dispersion is not None:
        yield f"  {regularity(history.dispersion)}"


def _known(letter: str, mean_s: float, what: str, count: int) -> str:
    value = duration(mean_s) if count else "not known"
    return f"  {letter}  {value:<9} {what}, of {count or 'none yet'}"


def _checkpoints(report: Report) -> Iterator[str]:
    health = report.health
    yield f"{health.commits} checkpoints of {health.saves} saves"
    if health.mean_interval_s is not None:
        yield f"  one every {duration(health.mean_interval_s)}"
    if health.mean_lag_s is not None and health.longest_lag_s is not None:
        yield (
            f"  committed {duration(health.mean_lag_s)} after the stall, "
            f"{duration(health.longest_lag_s)} at most"
        )
    if health.outlasted:
        yield f"  {health.outlasted} outlasted the interval: the storage does not keep up"
    if health.uncommitted > 0:
        yield f"  {health.uncommitted} were never committed"


def _interrupted(report: Report) -> Iterator[str]:
    yield "Interruptions"
    yield (
        f"  {'when':<20}{'how':<10}{'noticed':>9}{'step':>9}{'lost':>6}{'back in':>10}"
        f"{'rework':>9}{'restart':>9}{'waiting':>9}  GPU-h"
    )
    for interruption in report.interruptions[-SHOWN:]:
        yield _line(interruption)
        if interruption.answered_s:
            stages = interruption.answered_s.items()
            yield "    after the notice " + ", ".join(f"{what} {duration(s)}" for what, s in stages)
        if interruption.parts_s:
            parts = interruption.parts_s.items()
            yield "    back by " + ", ".join(f"{part} {duration(took)}" for part, took in parts)
    if len(report.interruptions) > SHOWN:
        yield f"  and {len(report.interruptions) - SHOWN} before these"


def _found(report: Report) -> Iterator[str]:
    yield "Found by guards"
    for found in report.findings[-SHOWN:]:
        guard = shortened(found.guard, 20)
        yield f"  {_clock(found.at):<20}{guard} at step {found.step}"
        yield f"    {shortened(found.text, 90)}"
    if len(report.findings) > SHOWN:
        yield f"  and {len(report.findings) - SHOWN} before these"


def _paused(headed: str, pauses: Sequence[Pause]) -> Iterator[str]:
    yield headed.format(duration(math.fsum(pause.paused_s for pause in pauses)))
    for pause in pauses[-SHOWN:]:
        yield (
            f"  {_clock(pause.at):<20}{_ENDS[pause.outcome]:<10} at step {pause.at_step}, "
            f"launched again {duration(pause.paused_s)} later at step {pause.resumed_step}"
        )
    if len(pauses) > SHOWN:
        yield f"  and {len(pauses) - SHOWN} before these"


def _line(interruption: Interruption) -> str:
    noticed = "-" if interruption.noticed_s is None else duration(interruption.noticed_s)
    costs = (
        interruption.rework_gpu_s,
        interruption.restart_gpu_s,
        interruption.waiting_gpu_s,
    )
    return (
        f"  {_clock(interruption.at):<20}{_ENDS[interruption.outcome]:<10}{noticed:>9}"
        f"{interruption.at_step:>9}{interruption.lost_steps:>6}{duration(interruption.back_s):>10}"
        + "".join(f"{digits(spent / 3600):>9}" for spent in costs)
    )


def _how_last(attempt: Attempt) -> str:
    return "has no end yet" if attempt.end is None else _LAST[attempt.end.outcome]


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
