"""Light ranks that agree and train nothing: many to a process, all on one real TCPStore."""

import multiprocessing
import os
import resource
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any, cast

import torch.distributed as dist

from trainer_hooks.agreement import StepAgreement
from trainer_hooks.clock import boottime_s
from trainer_hooks.decision import Outcome
from trainer_hooks.flag import StopNotice
from trainer_hooks.world import Store, World

OPERATIONS_LIMIT = 9
"""Of a rank in a round, whatever the number of ranks: six of any, one more of the rank with the
news, two more of the one that decides."""

PROCESSES = 4
"""Over which the ranks are spread: a thread of each waits, and a process runs one at a time."""

STEP_S = 0.02
PAUSE_S = 0.1
"""Between two rounds: a notice comes to ranks that wait for it."""

LEFT_S = 60.0
LIMIT_S = 60.0
"""Longest wait for anything; whoever takes longer hangs."""

_CONTEXT = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class RankRound:
    """What one rank says of one round."""

    told_s: float
    """From the notice to the decision."""
    operations: int
    """That it asked of the Store."""
    stop_step: int
    """The step that it stopped before; -1 in a round that stops nobody."""


def agree_in_rounds(size: int, rounds: int) -> list[list[RankRound]]:
    """Let ``size`` ranks answer rounds of advice, and in the end a stop, after one to warm up.

    Raises:
        RuntimeError: Some process has died, or hangs.
    """
    with ExitStack() as stack:
        with socket.create_server(("127.0.0.1", 0), backlog=4 * size) as listening:
            store = _start(stack, _host, listening)
        address = store.recv()
        spread = [range(first, size, PROCESSES) for first in range(min(PROCESSES, size))]
        crews = [_start(stack, _Crew.serve, address, size, numbers) for numbers in spread]
        for crew in crews:
            _receive(crew)  # they have joined
        answers = []
        for number in range(rounds + 2):
            time.sleep(PAUSE_S)
            teller = number * 7919 % size  # a prime: now here, now there
            for crew in crews:
                crew.send((number, teller, number == rounds + 1))
            said = [_receive(crew) for crew in crews]
            told_at = next(at for at, _ in said if at is not None)
            answers.append(
                [RankRound(at - told_at, *rest) for _, ranks in said for at, *rest in ranks]
            )
    return answers[1:]


class _Rank:
    """One rank: its agreement, and where its training is."""

    def __init__(self, number: int, size: int, store: Store) -> None:
        self.notice: StopNotice | None = None
        self.told_at = 0.0
        self.is_told = threading.Event()
        self.stop_step = -1
        self.operations = self._counted = 0
        world = _CountedWorld(rank=number, size=size, store=store, group=None, count=self._count)
        self.agreement = StepAgreement(world, lambda: self.notice, self._note_decision)

    def train(self, step: int) -> None:
        """Pass a boundary, or stop there."""
        while self.stop_step < 0 and (decision := self.agreement.reached(step)) is not None:
            if decision.outcome is Outcome.STOP:
                self.stop_step = step

    def answer(self) -> tuple[float, int, int]:
        """Return what it says of the round."""
        return self.told_at, self.operations, self.stop_step

    def _count(self) -> None:
        self._counted += 1

    def _note_decision(self) -> None:
        self.told_at = time.monotonic()
        self.operations, self._counted = self._counted, 0
        self.is_told.set()


class _Crew:
    """The ranks of one process, and the thread that trains for all of them."""

    def __init__(self, address: tuple[str, int], size: int, numbers: range) -> None:
        client = dist.TCPStore(*address, is_master=False, timeout=timedelta(seconds=LIMIT_S))
        store = cast("Store", dist.PrefixStore("bench", client))
        self._ranks = {number: _Rank(number, size, store) for number in numbers}
        self._step = 0

    @classmethod
    def serve(cls, pipe: Connection, address: tuple[str, int], size: int, numbers: range) -> None:
        """Be a process with ranks: answer the rounds that the pipe tells of, until a stop."""
        crew = cls(address, size, numbers)
        for rank in crew._ranks.values():
            rank.agreement.start()
        pipe.send("joined")
        is_stop = False
        while not is_stop:
            while not pipe.poll(STEP_S):
                crew._train()
            number, teller, is_stop = pipe.recv()
            pipe.send(crew._answer(number, teller, is_stop=is_stop))
        pipe.poll(LIMIT_S)  # until everybody has answered: the Store is still needed

    def _answer(
        self, number: int, teller: int, *, is_stop: bool
    ) -> tuple[float | None, list[tuple[float, int, int]]]:
        ranks = self._ranks.values()
        told_at = None
        if (rank := self._ranks.get(teller)) is not None:
            rank.notice = StopNotice(
                id=f"notice-{number}",
                is_stop=is_stop,
                deadline_s=boottime_s() + LEFT_S,
                source="bench",
            )
            told_at = time.monotonic()
            rank.agreement.notify()
        while not all(
            rank.is_told.is_set() and (rank.stop_step >= 0 or not is_stop) for rank in ranks
        ):
            self._train()
            time.sleep(STEP_S)
        for rank in ranks:
            rank.notice = None
            rank.is_told.clear()
        return told_at, [rank.answer() for rank in ranks]

    def _train(self) -> None:
        self._step += 1
        for rank in self._ranks.values():
            rank.train(self._step)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountedWorld(World):
    """Ranks that share a Store and no process group, and whose operations are counted."""

    count: Callable[[], None]

    def connection(self) -> Store:
        """Return a connection for one thread."""
        return cast("Store", _CountedStore(self.store.clone(), self.count))


class _CountedStore:
    """A connection that counts what has been answered."""

    def __init__(self, inner: Store, count: Callable[[], None]) -> None:
        self._inner, self._count = inner, count

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation: Callable[..., Any] = getattr(self._inner, name)

        def counted(*arguments: object) -> Any:  # noqa: ANN401 - as the Store's own
            answer = operation(*arguments)
            self._count()
            return answer

        return counted


def _host(pipe: Connection, listening: socket.socket) -> None:
    """Be the process that hosts the Store, until the pipe ends."""
    host, port = listening.getsockname()
    store = dist.TCPStore(
        host, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
    )
    pipe.send((host, port))
    pipe.poll(None)
    del store


def _start(stack: ExitStack, work: Callable[..., None], *arguments: object) -> Connection:
    """Fork a process that ends with the stack; return the pipe to it."""
    ours, theirs = _CONTEXT.Pipe()

    def be() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # two sockets a rank, and more
        # torch asks for a name of each connection's address: 5 s where a name server loses one.
        os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"
        work(theirs, *arguments)
        os._exit(0)  # hundreds of threads wait, and need not be asked

    process = _CONTEXT.Process(target=be, daemon=True)
    process.start()
    stack.callback(process.join)
    stack.callback(process.kill)
    theirs.close()  # now only the process holds it: its death ends the pipe
    return ours


def _receive(pipe: Connection) -> Any:  # noqa: ANN401 - what a process of ours sends
    try:
        if pipe.poll(LIMIT_S):
            return pipe.recv()
    except EOFError as error:
        raise RuntimeError("a process has died; its own words are on stderr") from error
    raise RuntimeError(f"a process has sent nothing for {LIMIT_S:.0f} s")
