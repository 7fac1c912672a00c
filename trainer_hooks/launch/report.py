"""How a launch ended, for people and for programs."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trainer_hooks.at_stop import AtStop
from trainer_hooks.launch.exit_codes import EXIT_PREEMPTED
from trainer_hooks.results import RankResult, RankState

_WORDS = {
    RankState.RUNNING: "broke off",
    RankState.LOST: "lost a peer",
    RankState.SAVED: "stopped",
    RankState.FINISHED: "finished",
}


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


def summary(results: Sequence[RankResult | None], reason: str | None) -> str:
    """Return how the ranks have ended, in a line.

    Args:
        results: By local rank, what each rank has left.
        reason: torchrun's complaint; None if it has none.
    """
    known = [result for result in results if result is not None]
    if not known:
        return reason or "done; the script does not use TrainerHooks"
    said = f"ranks {'+'.join(sorted({_WORDS[result.state] for result in known}))}"
    # What stands as running was written when the rank began: its steps since are not in it.
    ended = [result for result in known if result.state is not RankState.RUNNING]
    said += _reached(ended) if ended else _begun(known)
    return said if reason is None else f"{said}; {reason}"


def _reached(ended: Sequence[RankResult]) -> str:
    step = max(result.step for result in ended)
    committed = max((r.committed_step for r in ended if r.committed_step is not None), default=None)
    said = f" at step {step}"
    if any(result.at_stop is AtStop.EMERGENCY for result in ended):
        said += " and saved once more"
    said += f", newest checkpoint {committed}"
    if step > (committed or 0):
        said += f": {step - (committed or 0)} steps will be done again"
    return said


def _begun(running: Sequence[RankResult]) -> str:
    root = next((result.root for result in running if result.root is not None), None)
    began = max(result.step for result in running)
    where = "" if root is None else f" (reprieve-trainer checkpoints ls {shlex.quote(root)})"
    return f" without a word since they began at step {began}; the newest checkpoint counts{where}"
