"""What ``verify-resume`` has found: the two runs, and whether they are the same."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from trainer_hooks.errors import ConfigError
from trainer_hooks.resume_check.causes import first_divergence, likely_causes
from trainer_hooks.resume_check.comparison import ASPECTS, Aspect, Comparison, Doing, Ranks, compare

EXACT_ASPECTS = (
    *ASPECTS,
    Aspect("states", lambda doing: doing.state),
    Aspect("random numbers", lambda doing: doing.rng),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of a run."""

    ranks: int
    first_step: int
    last_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a check."""

    steps: int
    starts: Sequence[Start]
    """Of the interrupted run."""
    tolerance: float | None
    comparisons: Sequence[Comparison]
    causes: Sequence[str]
    """Of a difference, the likeliest first."""

    @property
    def difference(self) -> Comparison | None:
        """The first aspect that is not the same; None if all is."""
        return next((one for one in self.comparisons if one.difference is not None), None)

    def to_json(self) -> dict[str, object]:
        """Return it for programs."""
        return {"same": self.difference is None, **asdict(self)}


def judge(starts: Sequence[Ranks], unbroken: Ranks, tolerance: float | None) -> Verdict:
    """Hold an interrupted run against an unbroken one.

    At another number of ranks, what all ranks did in a step is compared as a whole: the samples,
    and the mean of the losses.

    Args:
        starts: What each start of the interrupted run did.
        unbroken: The run to compare with.
        tolerance: Largest relative difference of losses that counts as none.

    Raises:
        ConfigError: The numbers of ranks differ and there is no tolerance.
    """
    facts = [_start_of(ranks) for ranks in starts]
    steps = 1 + max(doing.step for doings in unbroken for doing in doings)
    is_whole = any(fact.ranks != len(unbroken) for fact in facts)
    if is_whole and tolerance is None:
        raise ConfigError(
            "at another number of ranks sums are taken in another order, and no loss is bitwise "
            "the same: say how close they have to be with --tolerance"
        )
    if is_whole:
        starts, unbroken = [[_as_one(ranks)] for ranks in starts], [_as_one(unbroken)]
    aspects = _aspects(unbroken, tolerance)
    joined = [[doing for ranks in starts for doing in ranks[rank]] for rank in range(len(unbroken))]
    comparisons = compare(joined, unbroken, steps, aspects)
    divergence = first_divergence(starts, unbroken, aspects)
    return Verdict(
        steps=steps,
        starts=facts,
        tolerance=tolerance,
        comparisons=comparisons,
        causes=[] if divergence is None else list(likely_causes(divergence)),
    )


def _start_of(ranks: Ranks) -> Start:
    steps = [doing.step for doings in ranks for doing in doings]
    return Start(ranks=len(ranks), first_step=min(steps), last_step=max(steps))


def _aspects(unbroken: Ranks, tolerance: float | None) -> list[Aspect]:
    """Return what is compared: of what was told, and of what can be the same."""
    first = unbroken[0][0]
    close = Aspect("losses", lambda doing: doing.loss, lambda a, b: _are_close(a, b, tolerance))
    aspects = EXACT_ASPECTS if tolerance is None else (*ASPECTS[:-1], close)
    return [aspect for aspect in aspects if aspect.of(first) not in (None, ())]


def _are_close(one: object, other: object, tolerance: float | None) -> bool:
    if one == other or one is None or other is None:
        return one == other
    return math.isclose(float(str(one)), float(str(other)), rel_tol=tolerance or 0.0)


def _as_one(ranks: Ranks) -> list[Doing]:
    """Return what all ranks did together; a step that one of them has not done is none."""
    by_step = [{doing.step: doing for doing in doings} for doings in ranks]
    in_all = set.intersection(*(set(steps) for steps in by_step))
    together = ([steps[step] for steps in by_step] for step in sorted(in_all))
    return [_merged(doings) for doings in together]


def _merged(doings: Sequence[Doing]) -> Doing:
    losses = [float(doing.loss) for doing in doings if doing.loss is not None]
    return replace(
        doings[0],
        ids=tuple(sorted(sample for doing in doings for sample in doing.ids)),
        loss=repr(fmean(losses)) if losses else None,
        state=None,
        rng=None,
    )
