"""How long a trainer has here to save, by all that may cut it short, beside what it takes; pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from watcher.errors import escaped
from watcher.finding import Finding, ok, unknown, wrong
from watcher.trainers import Trainer

TORCHRUN_GRACE_S = 30.0
"""Seconds between SIGTERM and SIGKILL that torchrun leaves its ranks, whatever the platform does.
Source: torch/distributed/elastic/multiprocessing/api.py, PContext.close (torch 2.13)."""

_FASTER = "a faster or nearer store, local=LocalSaves(...), or shorter steps make it less"


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that ends a trainer so many seconds after it was told to stop."""

    whose: str
    window_s: float
    longer: str
    """What makes it longer; empty where nothing does."""

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.whose} {self.window_s:g} s"


def torchrun_limit(trainers: Iterable[Trainer]) -> Limit | None:
    """Return the shortest that a launcher leaves its ranks; None where nobody trains."""
    graces_s = [
        TORCHRUN_GRACE_S if one.figures.grace_s is None else one.figures.grace_s for one in trainers
    ]
    if not graces_s:
        return None
    return Limit("the launcher's grace", min(graces_s), "reprieve-trainer launch --window S")


def compared(limits: Sequence[Limit], trainers: Sequence[Trainer]) -> Iterator[Finding]:
    """Yield the window that applies, and for each trainer whether its stop fits into it."""
    checked = "window to stop in"
    if not limits:
        yield unknown(checked, "nothing is known to limit it: which cloud this is is unknown")
        return
    least = min(limits, key=lambda one: one.window_s)
    others = ", ".join(str(one) for one in limits if one is not least)
    among = f", the least of: {least}, {others}" if others else f": {least}"
    yield ok(checked, f"{least.window_s:g} s{among}")
    if not trainers:
        yield ok("trainers", "none is alive here, so that no stop time is known")
    for trainer in trainers:
        yield _fits(trainer, least)


def _fits(trainer: Trainer, least: Limit) -> Finding:
    checked = f"stop of trainer {escaped(trainer.id)}"
    seen_s, reckoned_s = measured_s(trainer), reckoned(trainer)
    if seen_s is None and reckoned_s is None:
        return unknown(checked, "has not committed a save yet, so that nothing is known of it")
    if seen_s is not None:
        stop_s, how = seen_s, "took, from the notice to the commit,"
    else:
        stop_s, how = reckoned_s or 0.0, "takes, by its last step and save, about"
    found = f"{how} {stop_s:.1f} s of {least.window_s:g} s"
    if stop_s > least.window_s:
        longer = f"; {least.whose} can be made longer: {least.longer}" if least.longer else ""
        return wrong(checked, f"{found}: it would be cut off", f"{_FASTER}{longer}")
    return ok(checked, found)


def measured_s(trainer: Trainer) -> float | None:
    """Return how long its stop has taken, from the notice to the commit; None if it had none."""
    noticed_at = trainer.figures.noticed_at
    if noticed_at is None or trainer.committed_at is None:
        return None
    took_s = trainer.committed_at.timestamp() - noticed_at
    return took_s if took_s > 0 else None


def reckoned(trainer: Trainer) -> float | None:
    """Return how long a stop with a new save would take: a step, the stall, and the commit."""
    figures = trainer.figures
    if figures.commit_lag_s is None:
        return None
    return (figures.step_s or 0.0) + (figures.stall_s or 0.0) + figures.commit_lag_s


def skew(ours: str, trainers: Iterable[Trainer]) -> Iterator[Finding]:
    """Yield what is found of the versions of both sides; nothing where none is said."""
    theirs = sorted({one.figures.version for one in trainers if one.figures.version})
    if not theirs:
        return
    checked, shown = "versions", f"{ours} here, and {', '.join(theirs)} in trainers"
    if any(_promise(one) != _promise(ours) for one in theirs):
        todo = f"bring both to one version: pip install reprieve=={ours} where the trainers run"
        yield wrong(checked, f"{shown}: they are not tried together", todo)
    else:
        yield ok(checked, shown)


def _promise(version: str) -> tuple[str, ...]:
    """Return what of a version stays the same while nothing breaks: below 1.0 two parts of it."""
    parts = version.split(".")
    return tuple(parts[:2] if parts[0] == "0" else parts[:1])
