"""The votes of a run's saves, one after the other, over one connection."""

import contextlib
import logging
from collections import deque
from collections.abc import Callable
from datetime import timedelta

from torch.distributed import DistError

from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.vote import Vote
from trainer_hooks.world import World

log = logging.getLogger(__name__)


class Votes:
    """One rank's part in the votes. One thread at a time calls it: one save is in flight.

    Args:
        world: The ranks.
        timeout: As for a vote.
    """

    def __init__(self, world: World, timeout: timedelta) -> None:
        self._world = world
        self._store = world.connection()
        self._timeout = timeout
        self._votes: deque[Vote] = deque()

    def begin(self, name: SaveName) -> Vote:
        """Return the vote on a save."""
        vote = Vote(self._store, str(name), self._world.size, self._timeout)
        self._votes.append(vote)
        return vote

    def refuse(self, name: SaveName, failure: str) -> None:
        """Vote against a save that this rank takes no further part in.

        It does not wait for the others to hear of that: they may do so only when it has gone.
        """
        Vote(self._store, str(name), self._world.size, self._timeout).cast(failure)

    def forget_old(self) -> None:
        """Keep the Store small: who is here has seen every rank end the save before the last."""
        while len(self._votes) > 1:
            vote = self._votes.popleft()
            if self._world.is_coordinator:
                vote.forget()

    def let_hear(
        self, gone: Callable[[], frozenset[int]], limit_s: Callable[[], float | None]
    ) -> None:
        """Stay until all ranks know what became of the last save: the Store may go with this one.

        Call it when none is in flight. Only the coordinator stays.

        Args:
            gone: Returns the ranks that have ended, which nobody waits for.
            limit_s: Returns until when, on CLOCK_BOOTTIME.
        """
        if not self._world.is_coordinator or not self._votes:
            return
        with contextlib.suppress(DistError):  # it is elsewhere, and has gone before us
            missing = self._votes[-1].wait_heard(gone, limit_s)
            if missing:
                log.warning("left before ranks %s knew what became of the save", sorted(missing))
