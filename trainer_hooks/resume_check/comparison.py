"""Did the interrupted run do what an unbroken one does? Bitwise, step by step, on every rank."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """One step as one rank did it; a step that was redone has two doings."""

    step: int
    ids: tuple[int, ...]
    """Of the samples, in their order."""
    lr: str
    """As ``repr`` has it, the shortest text of these bits: equal means bitwise equal."""
    loss: str
    """Likewise."""
    done_at: float
    """Seconds of Unix time."""


Ranks = Sequence[Sequence[Doing]]
"""By rank, what it did in its order."""

ASPECTS: dict[str, Callable[[Doing], object]] = {
    "sample ids": lambda doing: doing.ids,
    "learning rates": lambda doing: doing.lr,
    "losses": lambda doing: doing.loss,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One aspect of two runs."""

    aspect: str
    count: int
    """How many pairs were compared."""
    difference: str | None
    """The first one; None if there is none."""


def read_doings(path: Path) -> list[Doing]:
    """Read a rank's step log; a file that is not there has none.

    Raises:
        ValueError: A line cannot be read; names it.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_read(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def compare(interrupted: Ranks, unbroken: Ranks, steps: int) -> list[Comparison]:
    """Compare two runs of ``steps`` steps. A step done twice counts by its last doing."""
    pairs = list(zip(map(_by_step, interrupted), map(_by_step, unbroken), strict=True))
    missing = (
        f"step {step} is missing on rank {rank} of the {name} run"
        for rank, pair in enumerate(pairs)
        for name, run in zip(("interrupted", "unbroken"), pair, strict=True)
        for step in range(steps)
        if step not in run
    )
    every_step = Comparison(
        aspect="steps", count=steps * len(pairs), difference=next(missing, None)
    )
    matched = [
        (rank, run[step], other[step])
        for rank, (run, other) in enumerate(pairs)
        for step in sorted(run.keys() & other.keys())
    ]
    aspects = [_compare(name, matched, of) for name, of in ASPECTS.items()]
    return [every_step, *aspects, _compare_redone(interrupted)]


def redone_steps(doings: Sequence[Doing]) -> int:
    """Return how many steps a rank has done again."""
    return len(doings) - len(_by_step(doings))


def resumed_step(ranks: Ranks, stop_step: int) -> int | None:
    """Return the step with which all ranks went on; None if they differ or did not.

    Args:
        ranks: What each rank did, in two launches; the first one began with step 0.
        stop_step: How many steps the first launch has finished.
    """
    steps = {doings[stop_step].step if len(doings) > stop_step else None for doings in ranks}
    return steps.pop() if len(steps) == 1 else None


def done_at(ranks: Ranks, step: int) -> float | None:
    """Return when the last rank had done ``step`` for the first time; None if one never has."""
    instants = [next((d.done_at for d in doings if d.step == step), None) for doings in ranks]
    known = [instant for instant in instants if instant is not None]
    return max(known) if known and len(known) == len(instants) else None


def _compare_redone(ranks: Ranks) -> Comparison:
    """Hold each doing against the first one of its step."""
    pairs = []
    for rank, doings in enumerate(ranks):
        first = _by_step(list(reversed(doings)))
        again = (doing for doing in doings if doing is not first[doing.step])
        pairs += [(rank, first[doing.step], doing) for doing in again]
    return _compare("steps redone", pairs, lambda doing: (doing.ids, doing.lr, doing.loss))


def _compare(
    aspect: str, pairs: Sequence[tuple[int, Doing, Doing]], of: Callable[[Doing], object]
) -> Comparison:
    differences = (
        f"step {one.step} on rank {rank}: {of(one)} against {of(other)}"
        for rank, one, other in pairs
        if of(one) != of(other)
    )
    return Comparison(aspect=aspect, count=len(pairs), difference=next(differences, None))


def _by_step(doings: Sequence[Doing]) -> dict[int, Doing]:
    return {doing.step: doing for doing in doings}


def _read(line: str, where: str) -> Doing:
    try:
        data = json.loads(line)
        return Doing(
            step=int(data["step"]),
            ids=tuple(map(int, data["ids"])),
            lr=repr(float(data["lr"])),
            loss=repr(float(data["loss"])),
            done_at=float(data["time"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{where} is no record of a step: {error!r}") from error
