"""Why a resumed run differs from an unbroken one: the usual causes, told by where it begins.

What differs first, and whether that is in the first step after a resume, says most. The causes are
those of trainer-facts 8.1, 8.11 and 5.54 to 5.70 (2026-11-30).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trainer_hooks.resume_check.comparison import Aspect, Doing, Ranks

BUCKETS_FROM_RANKS = 3
"""DDP over two ranks adds two numbers, in whatever order: bitwise the same (8.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first step in which two runs differ."""

    start: int
    """In which start of the interrupted run, from 0."""
    step: int
    is_first_of_start: bool
    aspects: frozenset[str]
    """What differs in it, on any rank."""
    ranks: int | None
    threads: tuple[int | None, int | None]
    """Of torch, on the CPU, in the interrupted and in the unbroken run."""


def first_divergence(
    starts: Sequence[Ranks], unbroken: Ranks, aspects: Sequence[Aspect]
) -> Divergence | None:
    """Return where a run begins to differ from an unbroken one; None if it does not."""
    known = [{doing.step: doing for doing in doings} for doings in unbroken]
    for number, ranks in enumerate(starts):
        pairs = [
            (one, known[rank][one.step])
            for rank, doings in enumerate(ranks)
            for one in doings
            if rank < len(known) and one.step in known[rank]
        ]
        different = [pair for pair in pairs if any(a.differs(*pair) for a in aspects)]
        if different:
            return _divergence(number, ranks, different, aspects)
    return None


def likely_causes(divergence: Divergence) -> Iterator[str]:
    """Yield what may be behind a difference, the likeliest first."""
    has = divergence.aspects
    mine, other = divergence.threads
    if mine != other:
        yield (
            f"torch had {mine} threads in one run and {other} in the other, and the order of sums "
            "depends on it: set OMP_NUM_THREADS (torchrun and launch set 1, plain python does not)"
        )
    if divergence.start == 0:
        yield (
            "they differ before any interruption: seeds that are not set, kernels that are not "
            "deterministic (torch.use_deterministic_algorithms), or data that is read in the order "
            "in which threads come"
        )
        return
    if "sample ids" in has:
        yield (
            "the data position did not come back: take batches from hooks.batches(loader), and "
            "name its ResumableSampler in TrainState(data=...)"
        )
    if "learning rates" in has:
        yield (
            "the schedule did not come back: name it in TrainState(scheduler=...), and let it go "
            "by its own count of steps, not by time or by batches of this process"
        )
    if has.isdisjoint({"sample ids", "learning rates"}):
        yield from _numeric_causes(divergence)


def _numeric_causes(divergence: Divergence) -> Iterator[str]:
    has = divergence.aspects
    many = divergence.ranks is None or divergence.ranks >= BUCKETS_FROM_RANKS
    if divergence.is_first_of_start and many and "losses" not in has:
        yield (
            "DDP rebuilds its buckets after a process's first backward, so from 3 ranks on the "
            "first step after a resume adds in another order: throw away one forward and backward "
            "before hooks.steps, as examples/train_gpt.py does, or use find_unused_parameters=True"
        )
    if "random numbers" in has:
        yield (
            "random numbers were drawn that the other run did not draw: a DataLoader draws one "
            "whenever it is iterated unless it has its own generator=torch.Generator(); so does "
            "what runs once a start, after the first step"
        )
    if divergence.is_first_of_start and "losses" in has:
        yield (
            "the model or its input is another: weights or buffers that are in no state_dict "
            "(persistent=False), something that belongs in TrainState(extras=...), or random "
            "numbers that DataLoader workers draw (augmentation), which are not resumed"
        )
    if not divergence.is_first_of_start or has == {"states"}:
        yield (
            "something that decides about the update is in no state: a counter or an average in "
            "the script (put it in TrainState(extras=...)), or a kernel that is not deterministic"
        )


def _divergence(
    start: int,
    ranks: Ranks,
    different: Sequence[tuple[Doing, Doing]],
    aspects: Sequence[Aspect],
) -> Divergence:
    step = min(one.step for one, _ in different)
    here = [pair for pair in different if pair[0].step == step]
    one, other = here[0]
    return Divergence(
        start=start,
        step=step,
        is_first_of_start=any(doings and doings[0].step == step for doings in ranks),
        aspects=frozenset(a.name for a in aspects for pair in here if a.differs(*pair)),
        ranks=one.ranks,
        threads=(one.threads, other.threads),
    )
