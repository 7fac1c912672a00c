"""How a launch ended, for people and for programs."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trainer_hooks.launch.exit_codes import EXIT_PREEMPTED
from trainer_hooks.results import RankResult


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchReport:
    """The end of a launch."""

    exit_code: int
    reason: str
    results: list[RankResult | None] = field(default_factory=list)
    """By local rank."""


def nothing_started(why: str) -> LaunchReport:
    """Return the report of a launch that a stop came before."""
    return LaunchReport(exit_code=EXIT_PREEMPTED, reason=f"nothing started: {why}")


def write_report(report: LaunchReport, path: Path) -> None:
    """Write a launch's end as JSON."""
    path.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
