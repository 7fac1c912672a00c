"""What a trainer says of itself besides what decides anything: for metrics and people; pure.

Anybody on the node may have written it. A figure that makes no sense is taken as not said: the
trainer's pod is neither held nor evicted for it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from watcher.rank_figures import RankFigures, amount, ranks_of

_TIME_LIMIT_CHARS = 64
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]{0,63}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerFigures:
    """Each None where it is not said; instants in seconds of Unix time."""

    stall_s: float | None = None
    commit_lag_s: float | None = None
    step_s: float | None = None
    save_every_steps: float | None = None
    attempt: float | None = None
    noticed_at: float | None = None
    stopped_at: float | None = None
    verified_at: float | None = None
    paid_gpu_s: float | None = None
    productive_gpu_s: float | None = None
    straggler_score: float | None = None
    """Own time of its slowest rank in medians of all: 1 is as fast as the others."""
    straggler_s: float | None = None
    """What of each step is lost to a rank that was found to be slow; 0 while none is."""
    ranks: tuple[RankFigures, ...] = ()
    """How its ranks on this node spend their steps, by local rank."""
    grace_s: float | None = None
    """Seconds between a stop signal and SIGKILL, where somebody has told the trainer."""
    version: str = ""
    """Of the package that it runs; empty where it is not said."""


NOTHING_SAID = TrainerFigures()


def figures_of(said: Mapping[str, object]) -> TrainerFigures:
    """Return the figures of a status file; every field is optional, and none is believed."""
    return TrainerFigures(
        stall_s=amount(said.get("stall_s")),
        commit_lag_s=amount(said.get("commit_lag_s")),
        step_s=amount(said.get("step_s")),
        save_every_steps=amount(said.get("save_every_steps")),
        attempt=amount(said.get("attempt")),
        noticed_at=_instant(said.get("noticed_at")),
        stopped_at=_instant(said.get("stopped_at")),
        verified_at=_instant(said.get("verified_at")),
        paid_gpu_s=amount(said.get("paid_gpu_s")),
        productive_gpu_s=amount(said.get("productive_gpu_s")),
        straggler_score=amount(said.get("straggler_score")),
        straggler_s=amount(said.get("straggler_s")),
        ranks=ranks_of(said.get("ranks")),
        grace_s=amount(said.get("grace_s")),
        version=_version(said.get("version")),
    )


def _version(value: object) -> str:
    is_one = isinstance(value, str) and _VERSION.fullmatch(value)
    return str(value) if is_one else ""


def _instant(value: object) -> float | None:
    if not isinstance(value, str) or len(value) > _TIME_LIMIT_CHARS:
        return None
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return None
    # A time without a zone would be read in ours.
    return (instant - _EPOCH).total_seconds() if instant.tzinfo is not None else None
