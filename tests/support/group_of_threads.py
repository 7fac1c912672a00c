"""Collectives among threads, matched as gloo matches them: by their order in the group alone.

The n-th collective that one rank begins meets the n-th of every other, whatever it is; who waits
for a rank that has gone is told so, and who waits for one that never comes waits.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from trainer_hooks.world import World

T = TypeVar("T")


class MixedUpError(BaseException):
    """Raised where ranks meet in different collectives: real ones would mix up their bytes."""


class GroupOfThreads:
    """A group, and all that are made apart from it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.waiting: dict[int, str] = {}
        """In what each rank waits now."""
        self._changed = threading.Condition()
        self._said: defaultdict[tuple[str, int], dict[int, tuple[str, object]]] = defaultdict(dict)
        self._gone: set[int] = set()

    def world(self, rank: int) -> World:
        """Return what a rank has instead of a World."""
        return cast("World", _WorldOfThreads(self, rank, ""))

    def leave(self, rank: int) -> None:
        """Close a rank's connections, as the end of its process does."""
        with self._changed:
            self._gone.add(rank)
            self._changed.notify_all()

    def say(self, at: tuple[str, int], rank: int, kind: str, value: object) -> None:
        """Begin a rank's part in a collective."""
        with self._changed:
            self._said[at][rank] = (kind, value)
            self._changed.notify_all()

    def hear(self, at: tuple[str, int], rank: int, of: Sequence[int]) -> list[object]:
        """Wait for some ranks' parts in a collective that this rank has begun."""
        with self._changed:
            kind, _ = self._said[at][rank]
            self.waiting[rank] = kind
            while missing := set(of) - self._said[at].keys():
                if missing & self._gone:
                    raise RuntimeError("[pair.cc:553] Connection closed by peer")
                self._changed.wait()
            del self.waiting[rank]
            if len({self._said[at][one][0] for one in of}) > 1:
                raise MixedUpError(f"{self._said[at]}")
            return [self._said[at][one][1] for one in of]


class _WorldOfThreads:
    """The part of a World that agreeing by a collective stands on."""

    def __init__(self, group: GroupOfThreads, rank: int, name: str) -> None:
        self.rank, self.size = rank, group.size
        self.is_coordinator = rank == 0
        self._group, self._name = group, name
        self._begun = self._parted = 0

    def apart(self) -> "_WorldOfThreads":
        self._parted += 1
        return _WorldOfThreads(self._group, self.rank, f"{self._name}/{self._parted}")

    def begin_max(self, mine: Sequence[int]) -> Callable[[], list[int]]:
        """Begin an all-reduce."""
        at = self._say("all_reduce", tuple(mine))

        def answer() -> list[int]:
            said = self._group.hear(at, self.rank, range(self.size))
            return [max(column) for column in zip(*cast("list[list[int]]", said), strict=True)]

        return answer

    def from_all(self, value: T) -> list[T]:
        """Gather."""
        at = self._say("all_gather", value)
        return cast("list[T]", self._group.hear(at, self.rank, range(self.size)))

    def from_coordinator(self, value: T) -> T:
        """Broadcast; rank 0 waits for nobody."""
        at = self._say("broadcast", value)
        return cast("list[T]", self._group.hear(at, self.rank, [0]))[0]

    def _say(self, kind: str, value: object) -> tuple[str, int]:
        at = (self._name, self._begun)
        self._begun += 1
        self._group.say(at, self.rank, kind, value)
        return at
