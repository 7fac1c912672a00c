"""Every way to save, in turns, by ranks that have one state: what each round has taken each."""

import logging
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import torch.distributed as dist

from lab.intervals import SEED
from lab.our_saves import Ours, OursUndigested
from lab.ranks import Ranks
from lab.saves import Plain, PlainAsync, Way
from lab.spread import SpreadState
from lab.store import Store
from lab.subprocess_saves import MISSING, BySubprocess
from lab.uploads import Alone, OursInBucket
from trainer_hooks.checkpoint.staging import open_stager
from trainer_hooks.world import World

RANKS = 2
WARM_UP_ROUNDS = 1
"""In which buffers are made, and a process is started."""

LIMIT_S = 300.0
"""For one save and what is read of it; more is no figure, it hangs."""

SAVE, ASYNC, KEPT, OURS = "save", "async_save", "async_save_kept", "ours"
UNDIGESTED, BUCKET, ALONE = "ours_without_digests", "ours_s3", "obstore_alone"
SUBPROCESS = "torch_checkpointing"
WAYS = (SAVE, ASYNC, KEPT, OURS, UNDIGESTED, BUCKET, ALONE, *([] if MISSING else [SUBPROCESS]))

Sample = dict[str, float]
"""One rank's figures of one save, by name."""

Round = dict[str, Sample]
"""By way; of each figure the slowest rank's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured in one place at one size."""

    directory: Path
    """An empty one in that place."""
    rank_mb: float
    """Millions of bytes that a rank saves."""
    store: Store
    """With its data in the same place."""
    rounds: int


def measured(plan: Plan, name: str) -> list[Round]:
    """Return all rounds but those that warm up.

    Raises:
        RuntimeError: A rank has died or hangs, or has not loaded what it had saved.
    """
    total = WARM_UP_ROUNDS + plan.rounds

    def work(send: Callable[[tuple[str, Sample]], None]) -> None:
        _save_in_turns(plan, total, send)

    with Ranks[tuple[str, Sample]](RANKS, work, limit_s=LIMIT_S, are_parents=True) as ranks:
        sent = ranks.measured(name, total * len(WAYS), warm_up=0)
    turns = [sent[at : at + len(WAYS)] for at in range(0, len(sent), len(WAYS))]
    return [{of_ranks[0][0]: _slowest(of_ranks) for of_ranks in turn} for turn in turns][
        WARM_UP_ROUNDS:
    ]


def _slowest(of_ranks: list[tuple[str, Sample]]) -> Sample:
    samples = [sample for _, sample in of_ranks]
    return {figure: max(s[figure] for s in samples) for figure in samples[0]}


def _save_in_turns(plan: Plan, rounds: int, send: Callable[[tuple[str, Sample]], None]) -> None:
    """Be a rank: save in each way in turn, and send what it has taken."""
    logging.getLogger("trainer_hooks").setLevel(logging.ERROR)  # each resume says so
    state, world = SpreadState(plan.rank_mb), World.connect()
    ways = dict(_ways(plan, state, world))
    order = random.Random(SEED)  # noqa: S311 - the same on all ranks
    for number in range(rounds):
        for name in order.sample(WAYS, len(WAYS)):  # so that none always comes after the same
            send((name, _sample(ways[name], number, state, plan.directory)))
    for way in ways.values():
        way.close()
    dist.barrier()  # rank 0 hosts the Store


def _ways(plan: Plan, state: SpreadState, world: World) -> Iterator[tuple[str, Way]]:
    """Yield every way. Those of ours, and torch's that keeps its buffers, share one stager."""
    root, stager = plan.directory, open_stager()
    yield SAVE, Plain(state, world, root / SAVE)
    yield ASYNC, PlainAsync(state, world, root / ASYNC)
    yield KEPT, PlainAsync(state, world, root / KEPT, stager)
    yield OURS, Ours(state, world, root / OURS, stager)
    yield UNDIGESTED, OursUndigested(state, world, root / UNDIGESTED, stager)
    yield BUCKET, OursInBucket(state, world, plan.store, stager)
    yield ALONE, Alone(plan.store, state.rank_bytes)
    if MISSING is None:
        yield SUBPROCESS, BySubprocess(state, world, root / SUBPROCESS)


def _sample(way: Way, number: int, state: SpreadState, directory: Path) -> Sample:
    """Save and load once, all ranks together; what was saved is gone afterwards."""
    is_first = dist.get_rank() == 0
    if is_first:
        os.sync()  # what others have left in the page cache is not this one's
    dist.barrier()
    times = way.save(number)
    figures = {"stall_s": times.stall_s, "durable_s": times.durable_s}
    dist.barrier()
    figures["bytes"] = way.saved_bytes() if is_first else 0
    for name, load in way.loads().items():
        if is_first:
            _forget(directory)
        figures[name] = _loaded_s(load, state)
    for name, read in way.reads().items():
        if is_first:
            _forget(directory)
        figures[name] = _loaded_s(read, None)
    dist.barrier()
    if is_first:
        way.remove()
    dist.barrier()
    return figures


def _loaded_s(load: Callable[[], object], state: SpreadState | None) -> float:
    if state is not None:
        state.spoil()
    dist.barrier()
    began = perf_counter()
    load()
    took_s = perf_counter() - began
    if state is not None:
        state.check()
    return took_s


def _forget(directory: Path) -> None:
    """Have a disk read: whoever resumes on another node has nothing in its page cache."""
    for path in directory.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
