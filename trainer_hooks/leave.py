"""Leaving together: after the commit, through a bounded barrier, the Store's host last.

torchrun sends SIGTERM to the peers of the first rank that exits non-zero within 0.1 s, and kills
them 30 s later, whatever its flags say (trainer-facts 3, runs a1 and a5, 2026-11-30). And when
the rank that hosts the Store goes first, the others lose it while they still need it.
"""

import logging
import os
import signal
import sys
import threading
from datetime import timedelta
from typing import NoReturn

from torch.distributed import DistError

from trainer_hooks.signals import ENDING_SIGNALS
from trainer_hooks.world import World

log = logging.getLogger(__name__)

FLUSH_S = 0.5
"""How long an end that asks nobody waits for the output to go out."""

BARRIER_S = 10.0
"""How long a rank that is done waits for the others, if there is as much time."""

COMMIT_ON_ERROR_S = 20.0
"""A rank that fails waits this long for the save in flight; torchrun kills its peers at 30 s."""

LAST_WORDS_S = 2.0
"""How long the Store's host waits for the others to have passed the barrier."""


class Departure:
    """The exit of this generation. Every rank makes one and makes the same calls."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._store = world.connection()

    def agree(self, what: str, *, mine: bool) -> bool:
        """Return the same answer on all ranks, once for each name; the first one to say counts.

        A rank may learn that a save has ended just as another one's time is up; without this, one
        would exit 0 and the other 75, or begin a save that the other takes no part in.
        """
        return self._store.compare_set(f"agree/{what}", "", "yes" if mine else "no") == b"yes"

    def barrier(self, left_s: float | None) -> None:
        """Wait until all ranks are here, while there is time; then leave all the same.

        Args:
            left_s: Seconds to the deadline, None if there is none.
        """
        try:
            self._pass("arrived", BARRIER_S if left_s is None else min(BARRIER_S, left_s))
            if self._world.is_coordinator:
                self._pass("gone", LAST_WORDS_S)
            else:
                self._count("gone")
        except DistError as error:
            log.warning("left without the others: %s", str(error).splitlines()[0])

    def _pass(self, name: str, timeout_s: float) -> None:
        self._count(name)
        self._store.wait([f"leave/{name}/all"], timedelta(seconds=timeout_s))

    def _count(self, name: str) -> None:
        if self._store.add(f"leave/{name}", 1) == self._world.size:
            self._store.set(f"leave/{name}/all", "1")


def exit_process(code: int, *, is_save_abandoned: bool) -> NoReturn:
    """End this process.

    The agent's SIGTERM to the peers of the first rank to leave must not change their codes any
    more. An abandoned save's threads would hold the interpreter's exit past the deadline, so then
    nothing is waited for.
    """
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if is_save_abandoned:
        exit_at_once(code)
    raise SystemExit(code)


def exit_at_once(code: int) -> NoReturn:
    """End this process without asking anybody. Any thread may call it.

    What was said goes out first if it can: a thread that hangs may hold the locks of the streams,
    and the reader at their other end may be gone.
    """
    try:
        flushing = threading.Thread(target=_flush, daemon=True)
        flushing.start()
        flushing.join(timeout=FLUSH_S)
    finally:
        os._exit(code)


def _flush() -> None:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
