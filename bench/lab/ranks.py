"""Ranks of a bench: forked processes in one gloo world on loopback, which send what they measure.

Forked, because a spawned one would import torch again, which takes longer than the measurement.
"""

import multiprocessing
import os
import socket
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Generic, Self, TypeVar

import torch
import torch.distributed as dist
from rich.console import Console
from rich.progress import track

T = TypeVar("T")

Work = Callable[[Callable[[T], None]], None]
"""What a rank does: it calls its argument with one value a round."""

ROUND_LIMIT_S = 30.0
"""What a value may take, unless more is said."""

_CONTEXT = multiprocessing.get_context("fork")


class Ranks(Generic[T]):
    """Ranks that run ``work`` beside each other, from here until the block is left.

    Start them before any thread: a forked child has the locks of threads, but not the threads.

    Args:
        size: How many.
        work: What each does.
        limit_s: Longest wait for a value; a rank that takes longer hangs.
        are_parents: Whether they start processes of their own.
    """

    def __init__(
        self,
        size: int,
        work: Work[T],
        *,
        limit_s: float = ROUND_LIMIT_S,
        are_parents: bool = False,
    ) -> None:
        port = _free_port()
        self._limit_s = limit_s
        self._processes = []
        self._pipes: list[Connection] = []
        for rank in range(size):
            ours, theirs = _CONTEXT.Pipe(duplex=False)
            arguments = (rank, size, port, theirs, work)
            process = _CONTEXT.Process(target=_be_rank, args=arguments, daemon=not are_parents)
            process.start()
            theirs.close()  # now only the rank holds it: its death ends the pipe
            self._processes.append(process)
            self._pipes.append(ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the ranks to leave if all went well, then end whoever is still there."""
        for process in self._processes:
            process.join(self._limit_s if error is None else 0)
            process.kill()  # not terminate: a StopListener takes SIGTERM for a notice
            process.join()

    def kill(self) -> None:
        """Take the ranks down as a lost node would."""
        for process in self._processes:
            process.kill()

    def measured(self, name: str, rounds: int, *, warm_up: int) -> list[list[T]]:
        """Return the values of so many rounds after those that warm up, and show how far it is."""
        total = warm_up + rounds
        console = Console(stderr=True)
        return list(track(self.rounds(total), name, total, console=console))[warm_up:]

    def rounds(self, count: int) -> Iterator[list[T]]:
        """Yield the values of ``count`` rounds, by rank.

        Raises:
            RuntimeError: A rank has died, or has sent nothing for too long.
        """
        for _ in range(count):
            yield [self._receive(rank) for rank in range(len(self._pipes))]

    def _receive(self, rank: int) -> T:
        try:
            if self._pipes[rank].poll(self._limit_s):
                value: T = self._pipes[rank].recv()
                return value
        except EOFError as error:
            raise RuntimeError(f"rank {rank} has died; its own words are on stderr") from error
        raise RuntimeError(f"rank {rank} has sent nothing for {self._limit_s:.0f} s")


def _be_rank(rank: int, size: int, port: int, pipe: Connection, work: Work[T]) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size
    )
    work(pipe.send)
    dist.destroy_process_group()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
