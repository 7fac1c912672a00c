"""The vote on a save: every rank says how it went, one rank decides, all learn the same.

Over the Store, from the threads that finish saves, so that the training meets no collective. One
failure settles the vote at once: nobody waits for a rank that may be dead to hear of it.
"""

import time
from collections.abc import Callable
from datetime import timedelta

from torch.distributed import DistStoreError

from trainer_hooks.clock import boottime_s
from trainer_hooks.world import Store

_COMMITTED = "committed"

_LOOK_S = 0.02
"""How often the last one out looks who has heard, in seconds."""


class Vote:
    """One save's vote. Each rank makes its own, over the connection of its finishing thread."""

    def __init__(self, store: Store, name: str, size: int, timeout: timedelta) -> None:
        self._store = store
        self._prefix = f"save/{name}"
        self._size = size
        self._timeout = timeout

    def cast(self, failure: str | None) -> None:
        """Say how this rank's part went. Each rank calls it once, when it writes no more."""
        if failure is not None:
            self._store.append(self._key("failures"), failure.replace("\n", " ") + "\n")
            self.settle(failure)
            self._store.set(self._key("decidable"), "1")
        if self._store.add(self._key("count"), 1) == self._size:
            self._store.set(self._key("all"), "1")
            self._store.set(self._key("decidable"), "1")

    def failures(self) -> list[str] | None:
        """Return what went wrong on the ranks, or None if one has not voted in time."""
        if not self._has("decidable", self._timeout):
            return None
        # Appending nothing makes the key exist, so that reading it never waits.
        self._store.append(self._key("failures"), "")
        return self._store.get(self._key("failures")).decode().splitlines()

    def is_over(self, within_s: float) -> bool:
        """Tell whether every rank has voted: from then on nobody writes to the save."""
        return self._has("all", timedelta(seconds=within_s))

    def settle(self, failure: str | None) -> None:
        """Decide; the first to do so counts."""
        self._store.compare_set(self._key("outcome"), "", failure or _COMMITTED)

    def outcome(self) -> str | None:
        """Return why the save failed, None if it was committed; the same on all ranks.

        A rank that waits in vain settles it as failed. The marker may be on disk all the same:
        then the checkpoint is good, and a resume will find it.
        """
        # The coordinator waits for the slowest rank and then commits.
        if not self._has("outcome", 2 * self._timeout):
            self.settle("the coordinator did not answer")
        outcome = self._store.get(self._key("outcome")).decode()
        return None if outcome == _COMMITTED else outcome

    def note_heard(self, rank: int) -> None:
        """Say that this rank knows the outcome. Each rank calls it once."""
        self._store.append(self._key("heard"), f"{rank} ")

    def wait_heard(
        self, gone: Callable[[], frozenset[int]], limit_s: Callable[[], float | None]
    ) -> set[int]:
        """Wait until every rank knows the outcome; return those that have not said so in time.

        Args:
            gone: Returns the ranks that have ended, which nobody waits for.
            limit_s: Returns until when, on CLOCK_BOOTTIME; None for as long as it takes.
        """
        while True:
            self._store.append(self._key("heard"), "")
            heard = {int(rank) for rank in self._store.get(self._key("heard")).split()}
            missing = set(range(self._size)) - heard
            limit = limit_s()
            if not missing - gone() or (limit is not None and boottime_s() >= limit):
                return missing
            time.sleep(_LOOK_S)

    def forget(self) -> None:
        """Remove the keys, once every rank has seen the outcome. One rank calls it."""
        for name in ("failures", "count", "all", "decidable", "outcome", "heard"):
            self._store.delete_key(self._key(name))

    def _has(self, name: str, timeout: timedelta) -> bool:
        try:
            self._store.wait([self._key(name)], timeout)
        except DistStoreError:
            return False
        return True

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}"
