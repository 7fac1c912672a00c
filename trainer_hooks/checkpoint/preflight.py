"""Whether the node's memory will hold the copies that saves are written from.

The first save takes them, and keeps them: it is then, hours into a run, that the kernel kills a
rank for want of memory, and nobody is told why. So it is reckoned up before, once.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from trainer_hooks.checkpoint.room import Room, rooms
from trainer_hooks.checkpoint.staging import staged_bytes
from trainer_hooks.clock import boot_id
from trainer_hooks.state import Snapshot
from trainer_hooks.world import World

log = logging.getLogger(__name__)

SPARE = 0.1
"""Share of what is left that is not counted on: the training takes more as well, now and then."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one rank is about to take, and what bounds it."""

    boot_id: str | None
    staged_bytes: int
    rooms: Sequence[Room]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One bound, and what all ranks that share it are about to take together."""

    room: Room
    ranks: Sequence[int]
    staged_bytes: int

    @property
    def is_enough(self) -> bool:
        """Tell whether the copies fit, with something to spare."""
        return self.staged_bytes <= (1 - SPARE) * self.room.left_bytes


class Preflight:
    """Looks once, at the first state that is captured: before that its size is not known.

    Args:
        world: The ranks.
        copies: How many of the state each rank keeps: each tier of saves has its own.
    """

    def __init__(self, world: World, copies: int) -> None:
        self._world = world
        self._copies = copies
        self._is_done = False

    def checked(self, snapshot: Snapshot) -> Snapshot:
        """Return what was captured, once it is said whether there is room for copies of it.

        All ranks call it, none while a save is in flight. It fails no run.
        """
        if not self._is_done:
            self._is_done = True
            self._look(snapshot.tensors)
        return snapshot

    def _look(self, tensors: Mapping[str, torch.Tensor]) -> None:
        size = self._copies * staged_bytes(tensors.values())
        needs = self._world.from_all(Need(boot_id=boot_id(), staged_bytes=size, rooms=rooms()))
        if (tightest := tightest_of(needs, self._world.rank)) is None:
            return
        if tightest.ranks[0] == self._world.rank:  # one says it for all that share the memory
            say(tightest)


def tightest_of(needs: Sequence[Need], rank: int) -> Shared | None:
    """Return the bound on a rank that leaves least beside the copies; None if none is known.

    Args:
        needs: Of all ranks.
        rank: Which.
    """
    own = needs[rank]
    shared = [_shared(needs, own.boot_id, room) for room in own.rooms]
    return min(shared, key=lambda one: one.room.left_bytes - one.staged_bytes, default=None)


def _shared(needs: Sequence[Need], boot: str | None, room: Room) -> Shared:
    """Sum up what all ranks take that share a bound: those of one machine, in one cgroup."""
    who = [
        rank
        for rank, need in enumerate(needs)
        if need.boot_id == boot and room.key in {other.key for other in need.rooms}
    ]
    return Shared(room=room, ranks=who, staged_bytes=sum(needs[rank].staged_bytes for rank in who))


def say(shared: Shared) -> None:
    """Log the figures, and what to do if they don't fit."""
    room, size = shared.room, shared.staged_bytes
    figures = (
        f"the copies that {len(shared.ranks)} ranks of this node save from take {_amount(size)} of "
        f"host memory, and {room.name} has {_amount(max(0, room.left_bytes))} left of "
        f"{_amount(room.total_bytes)}"
    )
    if shared.is_enough:
        log.info("%s", figures)
        return
    short = _amount(round(size / (1 - SPARE)) - room.left_bytes)
    log.warning(
        "HOST MEMORY MAY NOT DO: %s; where it runs out, at the first saves, the kernel kills a "
        "rank. Raise the limit by %s (in Kubernetes resources.limits.memory), spread the state "
        "over more nodes, or take less elsewhere: local saves, prefetched batches",
        figures,
        short,
    )


def _amount(size: int) -> str:
    """Return bytes for people."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}"
