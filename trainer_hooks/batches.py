"""Handing out batches so that exactly those the training has seen count as seen."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader

from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError
from trainer_hooks.forked import surely
from trainer_hooks.signals import STOP_SIGNALS

B = TypeVar("B")


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
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
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


def counted_batches(
    loader: DataLoader[B], note_wait: Callable[[float], None] = lambda _: None
) -> Generator[B, None, None]:
    """Iterate over ``loader`` from its sampler's position, advancing it batch by batch.

    Each wait for a batch is told, in seconds.

    The workers start now, not at the first batch, so that the random number that a DataLoader
    without its own generator draws is drawn before RNG is restored.

    Raises:
        ConfigError: The loader's sampler is no ResumableSampler, or it makes no batches itself,
            or not in order.
    """
    sampler = loader.sampler
    if not isinstance(sampler, ResumableSampler):
        raise ConfigError(
            f"hooks.batches needs a DataLoader(sampler=ResumableSampler(...)), "
            f"this one has a {type(sampler).__name__}"
        )
    if loader.batch_size is None:
        raise ConfigError("hooks.batches needs a DataLoader with batch_size=, to count samples")
    if not loader.in_order:
        raise ConfigError("hooks.batches needs in_order=True: a position stands for all before it")
    return _count(_timed(_start(loader), note_wait), sampler, loader.batch_size)


def _timed(iterator: Iterator[B], note_wait: Callable[[float], None]) -> Iterator[B]:
    while True:
        began_s = time.monotonic()
        try:
            batch = next(iterator)
        except StopIteration:
            return
        note_wait(time.monotonic() - began_s)
        yield batch


def _count(
    iterator: Iterator[B], sampler: ResumableSampler, batch_size: int
) -> Generator[B, None, None]:
    for batch in iterator:
        sampler.advance(batch_size)
        yield batch


def _start(loader: DataLoader[B]) -> Iterator[B]:
    """Start the workers, shielded from the first instruction on, and leave RNG as it was.

    Raises:
        WorkerError: A worker hangs in its fork, over and over.
    """
    if loader.num_workers:
        loader.multiprocessing_context = surely(loader.multiprocessing_context)
    if loader.num_workers and not isinstance(loader.worker_init_fn, ShieldedWorker):
        loader.worker_init_fn = ShieldedWorker(loader.worker_init_fn)
    rng: Any = torch.get_rng_state()
    # Blocked before the worker asks who sends it: a fork inherits the mask.
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        return iter(loader)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        torch.set_rng_state(rng)
