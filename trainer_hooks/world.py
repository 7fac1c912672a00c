"""The ranks that train together: who we are, the Store we share, and a gloo group of our own.

The only module that touches process groups. A single process is a world of one, with a Store in
memory and no group.
"""

import logging
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol, TypeVar, cast

import torch
import torch.distributed as dist

from trainer_hooks.errors import ConfigError
from trainer_hooks.hosted_store import Where, host_store, join_store, serves_many

T = TypeVar("T")

log = logging.getLogger(__name__)


class Store(Protocol):
    """What we use of a c10d Store; torch's own stubs lack half of it."""

    def set(self, key: str, value: str) -> None:
        """Write a value."""

    def get(self, key: str) -> bytes:
        """Read a value, waiting for it."""

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Read values in one go, waiting for them."""

    def add(self, key: str, amount: int) -> int:
        """Add to a counter and return its new value."""

    def append(self, key: str, value: str) -> None:
        """Append to a value."""

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Write if the value is as expected ("" = absent); return the value that stands."""

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        """Block until all keys exist."""

    def delete_key(self, key: str) -> bool:
        """Remove a key."""

    def clone(self) -> "Store":
        """Open a second connection: a blocked wait holds its own."""


FOREVER = timedelta(days=365)
"""A wait that ends when what is waited for is there, or its other end has gone. It polls nothing:
each time-out of a TCPStore costs two lines on stderr."""

CONNECT_S = 30.0
"""Seconds to connect once more to a Store that all ranks have just met on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The ranks of one generation of the job."""

    rank: int
    size: int
    store: Store
    """Under a prefix drawn for this generation: nothing an earlier one left can be read."""
    group: dist.ProcessGroup | None
    """A gloo group of our own, so that no collective of ours meets one of the training's."""
    door: Store | None = None
    """What further connections come from, and nobody asks anything; None on a rank that is alone.
    """

    @classmethod
    def connect(cls) -> "World":
        """Join the other ranks. All ranks call it, after ``init_process_group``.

        Raises:
            ConfigError: There are other ranks and no process group yet.
        """
        if not (dist.is_available() and dist.is_initialized()):
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                raise ConfigError(
                    f"this is one of {os.environ['WORLD_SIZE']} ranks and they have not met: call "
                    "torch.distributed.init_process_group before entering TrainerHooks"
                )
            return cls(rank=0, size=1, store=cast("Store", dist.HashStore()), group=None)
        group = dist.new_group(backend="gloo")
        # The agent's restart count is no generation: it differs between nodes and stands still
        # when the membership changes (trainer-facts 8.3, 2026-11-30). A random token is one.
        token = [secrets.token_hex(4)]
        dist.broadcast_object_list(token, src=0, group=group)
        own = _own_connection(group)
        store = dist.PrefixStore(f"reprieve/{token[0]}", own)
        return cls(
            rank=dist.get_rank(),
            size=dist.get_world_size(),
            store=cast("Store", store),
            group=group,
            door=cast("Store", _door(f"reprieve/{token[0]}", own)),
        )

    @property
    def is_coordinator(self) -> bool:
        """True on the one rank that reserves and commits."""
        return self.rank == 0

    @property
    def is_destroyed(self) -> bool:
        """True once the program has destroyed its process group, and with it this one."""
        return self.group is not None and not dist.is_initialized()

    def connection(self) -> Store:
        """Return a connection for one thread that will block on it."""
        if self.door is None:
            return self.store
        connection: Any = self.door.clone()
        connection.set_timeout(cast("Any", self.store).timeout)
        return cast("Store", connection)

    def apart(self) -> "World":
        """Return the same ranks with one more group, whose collectives meet no others of ours.

        All ranks call it, none while a save is in flight.
        """
        if self.group is None:
            return self
        return replace(self, group=dist.new_group(backend="gloo"))

    def begin_max(self, mine: Sequence[int]) -> Callable[[], list[int]]:
        """Begin to ask for the largest of all ranks' numbers, each by its place.

        The call that is returned waits for the answer, as long as it takes: who evaluates for an
        hour is not lost. All ranks call both, in the same order.

        Raises:
            RuntimeError: When the answer is waited for: a rank has gone.
        """
        if self.group is None:
            return lambda: list(mine)
        numbers = torch.tensor(mine, dtype=torch.int64)
        options: Any = dist.AllreduceOptions()
        options.reduceOp, options.timeout = dist.ReduceOp.MAX, FOREVER
        work: Any = self.group.allreduce([numbers], options)

        def answer() -> list[int]:
            work.wait()
            return [int(number) for number in numbers]

        return answer

    def from_coordinator(self, value: T) -> T:
        """Return rank 0's value on every rank. All call it, none while a save is in flight."""
        box = [value]
        if self.group is not None:
            dist.broadcast_object_list(box, src=0, group=self.group)
        return box[0]

    def from_all(self, value: T) -> list[T]:
        """Return every rank's value, by rank. All ranks call it, none while a save is in flight."""
        if self.group is None:
            return [value]
        values: list[T | None] = [None] * self.size
        dist.all_gather_object(values, value, group=self.group)
        return cast("list[T]", values)


def _own_connection(group: dist.ProcessGroup) -> Any:  # noqa: ANN401 - torch's stubs know no Store.clone
    """Clone the Store that the ranks met on, or meet on a new one where that one won't do.

    All ranks call it. The accessor is private, and the only one that works however the group was
    made (environment, tcp://, file://); this is its single use.

    Raises:
        DistNetworkError: The host of the Store cannot be reached.
    """
    store: Any = dist.distributed_c10d._get_default_store()  # noqa: SLF001 - see above
    if serves_many(store):
        return _second(store)
    log.info("rank 0 hosts another Store: this one is no TCPStore, and does less than we ask of it")
    return _hosted_by_coordinator(group)


def _hosted_by_coordinator(group: dist.ProcessGroup) -> Any:  # noqa: ANN401 - as above
    """Meet on a TCPStore of our own in rank 0's process. All ranks call it."""
    hosted, told = host_store() if dist.get_rank() == 0 else (None, None)
    where = [told]
    dist.broadcast_object_list(where, src=0, group=group)
    hosted = hosted or join_store(cast("Where", where[0]))
    hosted.set_timeout(dist.distributed_c10d.default_pg_timeout)
    return hosted


def _second(store: Any) -> Any:  # noqa: ANN401 - as above
    """Open a second connection to a Store that no other thread uses now, within ``CONNECT_S``.

    It would try for as long as the Store lets one wait, half an hour by default, while its host
    may just have been killed.
    """
    usual = store.timeout
    store.set_timeout(timedelta(seconds=CONNECT_S))
    try:
        second = store.clone()
    finally:
        store.set_timeout(usual)
    second.set_timeout(usual)
    return second


def _door(prefix: str, own: Any) -> Any:  # noqa: ANN401 - as above
    """Open a connection to be cloned by any thread, each time within ``CONNECT_S``."""
    door: Any = dist.PrefixStore(prefix, _second(own))
    door.set_timeout(timedelta(seconds=CONNECT_S))
    return door
