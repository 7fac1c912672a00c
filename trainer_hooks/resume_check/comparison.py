"""Did the interrupted run do what an unbroken one does? Bitwise, step by step, on every rank."""

import json
import operator
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
    loss: str | None
    """Likewise; None if nobody has told it."""
    done_at: float
    """Seconds of Unix time."""
    # What follows is known where ``trainer_hooks.step_log`` has written it.
    state: str | None = None
    """Digest of this rank's state after the step; None if there is none."""
    rng: str | None = None
    """Digest of torch's random number generators after the step."""
    threads: int | None = None
    """How many of the CPU torch has used."""
    ranks: int | None = None
    """How many there were."""
    until: int | None = None
    """Where the run ends."""
    committed: int | None = None
    """Step of the newest checkpoint known."""


Ranks = Sequence[Sequence[Doing]]
"""By rank, what it did in its order."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing about a step that is compared."""

    name: str
    of: Callable[[Doing], object]
    are_same: Callable[[object, object], bool] = operator.eq

    def differs(self, one: Doing, other: Doing) -> bool:
        """Tell whether two doings of a step differ in it."""
        return not self.are_same(self.of(one), self.of(other))


ASPECTS = (
    Aspect("sample ids", lambda doing: doing.ids),
    Aspect("learning rates", lambda doing: doing.lr),
    Aspect("losses", lambda doing: doing.loss),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One aspect of two runs."""

    aspect: str
    count: int
    """How many pairs were compared."""
    difference: str | None
    """The first one; None if there is none."""


def read_doings(path: Path) -> list[Doing]:
    """Read a rank's step log; a file that is not there has none, a line half-written is none yet.

    Raises:
        ValueError: A line cannot be read; names it.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [_read(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def compare(
    interrupted: Ranks, unbroken: Ranks, steps: int, aspects: Sequence[Aspect] = ASPECTS
) -> list[Comparison]:
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
    compared = [_compare(aspect, matched) for aspect in aspects]
    return [every_step, *compared, _compare_redone(interrupted, aspects)]


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


def _compare_redone(ranks: Ranks, aspects: Sequence[Aspect]) -> Comparison:
    """Hold each doing against the first one of its step."""
    pairs = []
    for rank, doings in enumerate(ranks):
        first = _by_step(list(reversed(doings)))
        again = (doing for doing in doings if doing is not first[doing.step])
        pairs += [(rank, first[doing.step], doing) for doing in again]
    compared = (_compare(aspect, pairs) for aspect in aspects)
    difference = next((f"{c.aspect}, {c.difference}" for c in compared if c.difference), None)
    return Comparison(aspect="steps redone", count=len(pairs), difference=difference)


def _compare(aspect: Aspect, pairs: Sequence[tuple[int, Doing, Doing]]) -> Comparison:
    differences = (
        f"step {one.step} on rank {rank}: {aspect.of(one)} against {aspect.of(other)}"
        for rank, one, other in pairs
        if aspect.differs(one, other)
    )
    return Comparison(aspect=aspect.name, count=len(pairs), difference=next(differences, None))


def _by_step(doings: Sequence[Doing]) -> dict[int, Doing]:
    return {doing.step: doing for doing in doings}


def _read(line: str, where: str) -> Doing:
    try:
        data = json.loads(line)
        rates = data["lr"] if isinstance(data["lr"], list) else [data["lr"]]
        return Doing(
            step=int(data["step"]),
            ids=tuple(map(int, data["ids"])),
            lr=" ".join(repr(float(rate)) for rate in rates),
            loss=None if data["loss"] is None else repr(float(data["loss"])),
            done_at=float(data["time"]),
            state=_text(data.get("state")),
            rng=_text(data.get("rng")),
            threads=_number(data.get("threads")),
            ranks=_number(data.get("ranks")),
            until=_number(data.get("until")),
            committed=_number(data.get("committed")),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{where} is no record of a step: {error!r}") from error


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: str | float | None) -> int | None:
    return None if value is None else int(value)
