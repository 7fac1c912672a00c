"""Every rank tells how long its steps take by phase, for whoever tells the watcher and the ledger.

From the desk's thread, every few seconds: the training does nothing for it.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict

from trainer_hooks.health.desk import Desk
from trainer_hooks.phases import MOST_HERE, PhaseTimes

_HERE_VARIABLE = "LOCAL_WORLD_SIZE"
"""How many ranks torchrun has started on this node, one after the other (torch 2.13)."""


class RankPhases:
    """One rank's part in it. The desk's thread calls it.

    Args:
        own: Returns what this rank has spent.
        note: Called on the first rank of each node with the phases of its ranks, and with those of
            all ranks on rank 0, nothing on others.
    """

    def __init__(
        self,
        own: Callable[[], PhaseTimes],
        note: Callable[[Sequence[PhaseTimes], Sequence[PhaseTimes]], None],
    ) -> None:
        self._own = own
        self._note = note
        self._is_first_here = os.environ.get("LOCAL_RANK", "0") == "0"
        self._has_told = self._is_complete = False

    def look(self, desk: Desk) -> None:
        """Tell this rank's, and read the others' where somebody wants to know them."""
        own, world, store = self._own(), desk.world, desk.store
        if own.steps == 0:
            return
        store.set(_key(world.rank), json.dumps(asdict(own)))
        if not self._has_told:
            self._has_told = True
            store.add("health/phases/ranks", 1)
        if not (self._is_first_here or world.is_coordinator):
            return
        self._is_complete = self._is_complete or store.add("health/phases/ranks", 0) == world.size
        if self._is_complete:
            here = range(world.rank, min(world.rank + _ranks_here(), world.size))
            wanted = range(world.size) if world.is_coordinator else here
            told = store.multi_get([_key(rank) for rank in wanted])
            read = [PhaseTimes(**json.loads(text)) for text in told]
            self._note(read[: len(here)], read if world.is_coordinator else ())


def _ranks_here() -> int:
    """Return how many ranks are on this node, as far as they are told of one by one."""
    told = os.environ.get(_HERE_VARIABLE, "1")
    return min(int(told), MOST_HERE) if told.isdecimal() else 1


def _key(rank: int) -> str:
    return f"health/phases/{rank}"
