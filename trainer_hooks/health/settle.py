"""The last look before a run ends: what its last steps have shown is known before they count.

A comparison takes as long as the Store does, and the training does not wait for it. Where there is
no next step it would be done only after the run has been told finished, and its last checkpoint
would be the corrupted one. So here, and only here, all ranks wait for each other's desks.
"""

import threading
import time
from datetime import timedelta
from functools import partial
from typing import Protocol

from torch.distributed import DistStoreError

from trainer_hooks.health.desk import PICK_UP_S, Desk

SETTLE_S = 5.0
"""Seconds that the end of a run waits at most; 0.1 s where all ranks are there."""

_SETTLE = timedelta(seconds=SETTLE_S)


class RollsBack(Protocol):
    """What may come of a finding."""

    @property
    def is_awaited(self) -> bool:
        """Whether the run is to be rolled back, and the ranks have not agreed on that yet."""

    def is_agreed(self) -> bool:
        """Tell whether all ranks have agreed to stop."""


def settle(desk: Desk, step: int, roll_back: RollsBack) -> None:
    """Wait until all ranks' desks are done with the steps before ``step``, and what follows of it.

    The training thread of every rank calls it before the last boundary of the run. A rank that
    passed that boundary before rank 0 has asked for a roll-back would make it come too late.
    """
    is_done = threading.Event()
    desk.put_last(partial(_hand_in, f"health/settled/{step}", is_done, roll_back))
    give_up_s = time.monotonic() + SETTLE_S
    while not is_done.wait(PICK_UP_S):
        if roll_back.is_agreed() or time.monotonic() > give_up_s:
            return  # all ranks stop anyway, or one of them has no time: its own end is more urgent


def _hand_in(key: str, is_done: threading.Event, roll_back: RollsBack, desk: Desk) -> None:
    """Say that this desk is done, and wait for the others'. Runs in the desk's thread."""
    try:
        if desk.store.add(f"{key}/count", 1) == desk.world.size:
            desk.store.set(f"{key}/all", "1")
        if not desk.world.is_coordinator:
            desk.store.wait([key], _SETTLE)
            return
        desk.store.wait([f"{key}/all"], _SETTLE)
        desk.look()
        give_up_s = time.monotonic() + SETTLE_S
        while roll_back.is_awaited and time.monotonic() < give_up_s:
            time.sleep(PICK_UP_S)
        desk.store.set(key, "1")
    except DistStoreError:
        pass  # a rank is late, so the run ends without its word
    finally:
        is_done.set()
