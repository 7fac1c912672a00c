"""Which checkpoints are kept: the newest ones, and of the older ones a sparse ladder. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from trainer_hooks.checkpoint.latest import Checkpoint
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.errors import ConfigError

_LADDER = {"hourly": "%Y-%m-%d %H:00", "daily": "%Y-%m-%d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """What is kept. Everything that one of the rules wants, stays.

    Raises:
        ConfigError: A number makes no sense.
    """

    last: int = 3
    """The newest checkpoints: at least 1. More than one, or a damaged one may be the last."""
    hourly: int = 0
    """The last checkpoint of each of so many hours (UTC) that have one."""
    daily: int = 0
    """The last checkpoint of each of so many days (UTC) that have one."""

    def __post_init__(self) -> None:
        if self.last < 1 or self.hourly < 0 or self.daily < 0:
            raise ConfigError(
                f"{self}: at least the last checkpoint is kept, and no number is below 0"
            )


def wanted(whole: Sequence[Checkpoint], keep: Keep) -> dict[SaveName, str]:
    """Return which of some whole checkpoints are kept by the rules, and by which one.

    A checkpoint makes room only for one that is later by step *and* by attempt. After damage or
    a rollback a run goes on at a lower step, and there its new checkpoints must neither be taken
    for old ones nor push the others out (SimpleTuner#2989, unsloth-zoo#782).
    """
    kept = {}
    for name in (found.marker.name for found in whole):
        if sum(_is_later(other.marker.name, name) for other in whole) < keep.last:
            kept[name] = f"among the last {keep.last}"
    for rule, form in _LADDER.items():
        for rung, name in _rungs(whole, form)[: getattr(keep, rule)]:
            kept.setdefault(name, f"{rule}: {rung}")
    return kept


def _is_later(one: SaveName, other: SaveName) -> bool:
    ours, theirs = (one.step, one.attempt.number), (other.step, other.attempt.number)
    return ours != theirs and ours[0] >= theirs[0] and ours[1] >= theirs[1]


def _rungs(whole: Iterable[Checkpoint], form: str) -> list[tuple[str, SaveName]]:
    """Return the latest checkpoint of each hour or day that has one, newest first.

    Which rung is newer the checkpoints say, and not the hours: a node whose clock is years ahead
    would otherwise hold a rung for years, and one that is behind would never have any.
    """
    rungs: dict[str, SaveName] = {}
    for found in whole:
        name = found.marker.name
        rung = datetime.fromisoformat(found.marker.created).astimezone(UTC).strftime(form)
        rungs[rung] = max(rungs.get(rung, name), name, key=_lateness)
    return sorted(rungs.items(), key=lambda of: _lateness(of[1]), reverse=True)


def _lateness(name: SaveName) -> tuple[int, int]:
    return name.attempt.number, name.step
