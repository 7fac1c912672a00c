"""A report for programs. Instants are Unix time, shares from 0 to 1."""

from collections.abc import Mapping
from dataclasses import asdict

from trainer_hooks.waste.interruptions import Interruption
from trainer_hooks.waste.pauses import Pause
from trainer_hooks.waste.report import Report


def report_json(report: Report) -> Mapping[str, object]:
    """Return what a ledger says."""
    accounts, history, costs, choice = (
        report.accounts,
        report.history,
        report.costs,
        report.choice,
    )
    return {
        "schema": 1,
        "began": report.began,
        "ended": report.ended,
        "steps": report.steps,
        "starts": len(report.attempts),
        "torn_lines": report.torn_lines,
        "clocks_set_back_s": report.set_back_s,
        "goodput": accounts.goodput,
        "paid_gpu_s": accounts.paid,
        "paused_s": accounts.paused_s,
        "gpu_s": {kind.value: spent for kind, spent in accounts.kinds.items()},
        "restart_gpu_s": {part.value: spent for part, spent in accounts.parts.items()},
        "measured": None
        if costs is None or choice is None
        else {
            "job_mtbi_s": costs.mtbi_s,
            "job_mtbi_90_percent_s": [
                history.mtbi.quantile_s(0.05),
                history.mtbi.quantile_s(0.95),
            ],
            "stall_s": costs.stall_s,
            "commit_lag_s": costs.commit_lag_s,
            "restart_s": costs.restart_s,
            "interval_s": {
                "young": choice.young_s,
                "daly": choice.daly_s,
                "exact": choice.exact_s,
                "chosen": choice.chosen_s,
            },
            "interval_bound": choice.bound,
        },
        "dispersion": None if history.dispersion is None else asdict(history.dispersion),
        "checkpoints": {
            "saves": report.health.saves,
            "commits": report.health.commits,
            "mean_interval_s": report.health.mean_interval_s,
            "mean_lag_s": report.health.mean_lag_s,
            "longest_lag_s": report.health.longest_lag_s,
            "outlasted_interval": report.health.outlasted,
        },
        "step_phases": {
            one.phase.value: {
                "median_s": one.median_s,
                "most_s": one.most_s,
                "most_rank": one.rank,
                "ranks": one.ranks,
            }
            for one in report.phases
        },
        "interruptions": [_interruption(each) for each in report.interruptions],
        "findings": [
            {"at": one.at, "guard": one.guard, "step": one.step, "text": one.text}
            for one in report.findings
        ],
        "pauses": [_pause(each) for each in report.pauses],
        "goodput_over_time": [
            {"began": bucket.began, "ended": bucket.ended, **bucket.shares}
            for bucket in report.buckets()
        ],
    }


def _interruption(interruption: Interruption) -> Mapping[str, object]:
    return {
        "attempt": interruption.attempt,
        "at": interruption.at,
        "outcome": interruption.outcome or "killed",
        "noticed_s": interruption.noticed_s,
        "answered_s": dict(interruption.answered_s),
        "at_step": interruption.at_step,
        "resumed_step": interruption.resumed_step,
        "lost_steps": interruption.lost_steps,
        "back_s": interruption.back_s,
        "rework_gpu_s": interruption.rework_gpu_s,
        "restart_gpu_s": interruption.restart_gpu_s,
        "parts_s": {part.value: seconds for part, seconds in interruption.parts_s.items()},
        "waiting_gpu_s": interruption.waiting_gpu_s,
    }


def _pause(pause: Pause) -> Mapping[str, object]:
    return {
        "attempt": pause.attempt,
        "at": pause.at,
        "outcome": pause.outcome,
        "at_step": pause.at_step,
        "resumed_step": pause.resumed_step,
        "paused_s": pause.paused_s,
    }
