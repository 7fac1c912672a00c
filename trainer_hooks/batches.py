"""Handing out batches so that exactly those the training has seen count as seen."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, TypeVar

from torch.utils.data import DataLoader

from trainer_hooks.data import GlobalBatch, ResumableSampler
from trainer_hooks.errors import ConfigError
from trainer_hooks.forked import surely
from trainer_hooks.micro_batches import MicroBatches
from trainer_hooks.of_each_rank import Stateful
from trainer_hooks.signals import ENDING_SIGNALS

if TYPE_CHECKING:  # it loads seconds of torch.distributed, which a worker that is spawned needs not
    from trainer_hooks.state import TrainState

log = logging.getLogger(__name__)

B = TypeVar("B")

NoteWait = Callable[[float], None]
"""Told each wait for a batch, in seconds."""


class ShieldedWorker:
    """Makes a DataLoader worker deaf to stop signals, but for its own parent's SIGTERM.

    A signal to the whole process group (Slurm, ``docker stop``) would otherwise kill the workers,
    and the rank would crash over them instead of stopping at a boundary. The parent's must still
    end them: an exception that keeps their iterator alive leaves them to Python's exit, which
    terminates its children and then waits for them without limit. A class, not a closure:
    spawned workers get it pickled.
    """

    def __init__(self, previous: Callable[[int], None] | None) -> None:
        self._previous = previous

    def __call__(self, worker_id: int) -> None:
        """Run in the worker, before its first batch."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
        parent = multiprocessing.parent_process()
        if parent is not None:
            threading.Thread(target=_end_with, args=(parent.pid,), daemon=True).start()
        if self._previous is not None:
            self._previous(worker_id)


def _end_with(parent: int) -> None:
    """Wait for the SIGTERM that counts. Without an error, as torch's own worker ends on it."""
    while signal.sigwaitinfo({signal.SIGTERM}).si_pid != parent:
        pass
    os._exit(os.EX_OK)


def handed_out(
    loader: DataLoader[B], state: "TrainState", note_wait: NoteWait = lambda _: None
) -> Generator[B, None, None]:
    """Iterate over a loader from the restored position on, without end, in a way that is kept.

    Each wait for a batch is told, in seconds.

    Raises:
        ConfigError: Nobody would know which batches were handed out.
    """
    is_counted = isinstance(loader.sampler, ResumableSampler)
    if isinstance(loader.batch_sampler, MicroBatches) or is_counted:
        return counted_batches(loader, note_wait)
    if isinstance(loader, Stateful):
        return endless_batches(loader, state, note_wait)
    return counted_batches(loader, note_wait)


def endless_batches(
    loader: DataLoader[B], state: "TrainState", note_wait: NoteWait
) -> Generator[B, None, None]:
    """Iterate over a loader that knows its own position, one epoch after the other.

    Raises:
        ConfigError: Its position is not part of the state, or it has no random number generator of
            its own.
    """
    name = _name(loader)
    if not state.keeps_of_each_rank(loader):
        raise ConfigError(
            f"{name} keeps its own position, and TrainState does not keep that: pass it "
            "data=OfEachRank(loader), as each rank has another one"
        )
    _check(loader, name)
    return _endless(_timed(_start(loader), note_wait), loader, note_wait)


def _endless(
    epoch: Iterator[B], loader: DataLoader[B], note_wait: NoteWait
) -> Generator[B, None, None]:
    empty = 0
    while empty < 2:  # of an epoch that was resumed at its end nothing is left
        empty += 1
        for batch in epoch:
            empty = 0
            yield batch
        epoch = _timed(_start(loader), note_wait)
    raise ConfigError(f"{_name(loader)} has no batch in a whole epoch")


def counted_batches(
    loader: DataLoader[B], note_wait: NoteWait = lambda _: None
) -> Generator[B, None, None]:
    """Iterate over ``loader`` from its sampler's position, advancing it as batches are handed out.

    The workers start now, not at the first batch.

    Raises:
        ConfigError: The loader goes by neither a ResumableSampler nor MicroBatches, or it makes no
            batches itself, or not in order, or has no random number generator of its own. Or a
            plan has another global batch than the checkpoint, and nobody has accepted that.
    """
    name = _name(loader)
    micro, sampler = loader.batch_sampler, loader.sampler
    if isinstance(micro, MicroBatches):
        _check(loader, name)
        micro.begin()
        return _count_steps(_timed(_start(loader), note_wait), micro)
    if not isinstance(sampler, ResumableSampler):
        raise ConfigError(
            f"hooks.batches needs a DataLoader(sampler=ResumableSampler(...)) or "
            f"DataLoader(batch_sampler=MicroBatches(...)), {name} has a {type(sampler).__name__}"
        )
    if loader.batch_size is None:
        raise ConfigError(f"{name} has no batch_size=, and hooks.batches counts samples by it")
    _check(loader, name)
    note_batch(sampler, loader.batch_size)
    return _count(_timed(_start(loader), note_wait), sampler, loader.batch_size)


def _timed(iterator: Iterator[B], note_wait: NoteWait) -> Iterator[B]:
    while True:
        began_s = time.monotonic()
        try:
            batch = next(iterator)
        except StopIteration:
            return
        note_wait(time.monotonic() - began_s)
        yield batch


def _name(loader: DataLoader[B]) -> str:
    return f"the {type(loader).__name__} over {type(loader.dataset).__name__}"


def _check(loader: DataLoader[B], name: str) -> None:
    if not loader.in_order:
        raise ConfigError(f"{name} needs in_order=True: a position stands for all before it")
    if loader.generator is None:
        # Its workers' seeds would come out of the training's own random numbers, and a start more
        # or less would shift those (trainer-facts 8.11, 2026-11-30).
        raise ConfigError(
            f"{name} has no random number generator of its own, and would draw from the "
            "training's: give it generator=torch.Generator()"
        )


def note_batch(sampler: ResumableSampler, batch_size: int) -> None:
    """Take note of what a batch of each rank holds, and say so if that was something else."""
    batch = GlobalBatch(batch_size * sampler.world_size, is_planned=False)
    before, sampler.global_batch = sampler.global_batch, batch
    if before is not None and before.samples != batch.samples and sampler.rank == 0:
        log.warning(
            "a batch on every rank were %d samples when the checkpoint was made, and are %d now: "
            "unless a step takes more or fewer batches to make up for it, this is another "
            "training; plan_accumulation holds a global batch at any number of ranks",
            before.samples,
            batch.samples,
        )


def _count(
    iterator: Iterator[B], sampler: ResumableSampler, batch_size: int
) -> Generator[B, None, None]:
    for batch in iterator:
        sampler.advance(batch_size)
        yield batch


def _count_steps(iterator: Iterator[B], micro: MicroBatches) -> Generator[B, None, None]:
    """Count a global batch as handed out with the last micro-batch that this rank has of it."""
    for number, batch in enumerate(iterator, start=1):
        if number % micro.plan.micro_batches == 0:
            micro.sampler.position += micro.plan.global_batch
        yield batch


def _start(loader: DataLoader[B]) -> Iterator[B]:
    """Start the workers, shielded from the first instruction on.

    Raises:
        WorkerError: A worker hangs in its fork, over and over.
    """
    if loader.num_workers:
        loader.multiprocessing_context = surely(loader.multiprocessing_context)
    if loader.num_workers and not isinstance(loader.worker_init_fn, ShieldedWorker):
        loader.worker_init_fn = ShieldedWorker(loader.worker_init_fn)
    # Blocked before the worker asks who sends it: a fork inherits the mask.
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        return iter(loader)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
