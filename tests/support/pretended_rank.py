"""A rank that trains nothing: the real hooks over a real Store, with pretended steps and saves.

It starts in a tenth of the time of one with gloo groups and tensors. Where those would couple the
ranks, a rendezvous on the Store does.
"""

import itertools
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, NoReturn, cast

import torch.distributed as dist

from tests.support.pretended_saves import Meeting, PretendedSaves
from tests.support.random_plan import Plan, What
from trainer_hooks import TrainerHooks, run
from trainer_hooks.results import RESULT_DIR_VARIABLE
from trainer_hooks.world import Store, World

EARLY = {signal.SIGTERM, signal.SIGUSR2}
"""Blocked by whoever forks a rank, until it can take them."""

HANG_S = 300.0
JOIN_LIMIT_S = 30.0
PEER_LIMIT_S = 90.0
LOST_PEER_LIMIT_S = 2.0
"""Where a rank is killed, others wait no longer: gloo tells them at once, a Store never."""


class LateStore:
    """A connection to the Store on which some operations begin late."""

    def __init__(self, inner: Store, hold: Callable[[], None]) -> None:
        self._inner, self._hold = inner, hold

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return an operation of the Store."""
        operation: Callable[..., Any] = getattr(self._inner, name)

        def late(*arguments: object) -> Any:  # noqa: ANN401 - as the Store's own
            self._hold()
            return operation(*arguments)

        return late


@dataclass(frozen=True, slots=True, kw_only=True)
class LateWorld(World):
    """Ranks that share a Store and no process group."""

    hold: Callable[[], None]

    def connection(self) -> Store:
        """Return a connection for one thread."""
        return cast("Store", LateStore(self.store.clone(), self.hold))


def be_rank(plan: Plan, rank: int, listening: socket.socket, directory: Path) -> NoReturn:
    """Be a rank of the job, in a process of one's own; never come back."""
    code = 1
    try:
        _redirect(directory / f"rank_{rank}.txt")
        logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)
        os.environ |= {
            # torch asks for a name of each connection's address: 5 s where a server loses one.
            "RES_OPTIONS": "timeout:1 attempts:1",
            "LOCAL_RANK": str(rank),
            "REPRIEVE_RUN_DIR": str(directory / f"node_{rank // plan.ranks_a_node}"),
            RESULT_DIR_VARIABLE: str(directory),
        }
        _train(plan, rank, listening)
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it is belongs into the log
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _redirect(log: Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = sys.stderr = os.fdopen(descriptor, "w", buffering=1)


def _train(plan: Plan, rank: int, listening: socket.socket) -> None:
    hangs = threading.Event()

    def hang(_number: int, _frame: FrameType | None) -> None:
        hangs.set()  # taken up within a step: no gate and no lock is held for ever

    signal.signal(signal.SIGUSR2, hang)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # before and after the hooks listen to it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, EARLY)
    time.sleep(plan.joins_s[rank])
    limit_s = LOST_PEER_LIMIT_S if plan.has(What.KILL) else PEER_LIMIT_S
    store = _open_store(rank, listening)
    saving, stepping = (Meeting(store.clone(), plan.size, limit_s) for _ in range(2))
    world = LateWorld(rank=rank, size=plan.size, store=store, group=None, hold=_holder(plan, rank))
    run.World = SimpleNamespace(connect=lambda: world)  # type: ignore[assignment, attr-defined]  # this process is ours
    run.Saves = lambda *_: PretendedSaves(plan.save_every, plan.save_s, saving)  # type: ignore[assignment, attr-defined]  # as above
    with TrainerHooks(
        cast("Any", SimpleNamespace(model=None)),  # only saves look at the state, and ours do not
        checkpoint_dir=os.environ[RESULT_DIR_VARIABLE],
        save_every=plan.save_every,
        always_stop=plan.always_stop,
    ) as hooks:
        for step in hooks.steps(until=plan.until):
            if hangs.is_set():
                time.sleep(HANG_S)
            if plan.is_coupled:
                stepping.meet(f"step/{step}")
            time.sleep(plan.step_s[rank])
            if any(hooks.boundary() for _ in range(plan.ticks)):
                break


def _open_store(rank: int, listening: socket.socket) -> Store:
    host, port = listening.getsockname()
    timeout = timedelta(seconds=JOIN_LIMIT_S)
    if rank == 0:
        store = dist.TCPStore(
            host,
            port,
            is_master=True,
            timeout=timeout,
            wait_for_workers=False,
            master_listen_fd=listening.detach(),
        )
    else:
        listening.close()  # or the Store of a dead host would seem to be there
        store = dist.TCPStore(host, port, is_master=False, timeout=timeout)
    return cast("Store", dist.PrefixStore("run", store))


def _holder(plan: Plan, rank: int) -> Callable[[], None]:
    """Return what is called before each operation of the rank's threads on the Store."""
    for_s = {delay.operation: delay.for_s for delay in plan.delays if delay.rank == rank}
    numbers: Iterator[int] = itertools.count()

    def hold() -> None:
        time.sleep(for_s.get(next(numbers), 0.0))

    return hold
