"""Reading shards where they lie, in one piece or in parts: many ranges at a time.

The other half of ``parts``. What a bucket is slow at is the first byte, so a reader asks for what
it will want next while it waits. A copy of a bucket on a file system is read as well.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from trainer_hooks.checkpoint.parts import part_number, whole_name
from trainer_hooks.checkpoint.place import ObjectPlace, Place, sizes_in
from trainer_hooks.errors import CheckpointError

READERS = 8
"""Requests of a rank at a time."""

AHEAD_BYTES = 256 * 1024 * 1024
"""So much is asked for before it is wanted, and one item at least."""

_RANGE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """A stretch of a shard, as DCP's index has it."""

    name: str
    start: int
    length: int


class Shards:
    """The shards of one checkpoint."""

    def __init__(self, directory: Place) -> None:
        self._directory = directory
        self._pieces: dict[str, list[tuple[str, int]]] = {}
        for name, size in sorted(_sizes(directory).items(), key=lambda of: part_number(of[0])):
            self._pieces.setdefault(whole_name(name), []).append((name, size))

    @property
    def are_plain_files(self) -> bool:
        """True where a shard is a file, as DCP itself would read it."""
        is_parted = any(name != whole for whole, of in self._pieces.items() for name, _ in of)
        return isinstance(self._directory, Path) and not is_parted

    def read(self, items: Iterable[Item]) -> Iterator[bytearray]:
        """Yield the items in their order, asking for the next ones meanwhile.

        Raises:
            OSError: One cannot be read.
            CheckpointError: There is no such stretch.
        """
        with ThreadPoolExecutor(READERS, thread_name_prefix="reprieve-get") as pool:
            ahead: deque[tuple[bytearray, list[Future[None]]]] = deque()
            ahead_bytes = 0
            try:
                for item in items:
                    while ahead and ahead_bytes + item.length > AHEAD_BYTES:
                        data = _arrived(*ahead.popleft())
                        ahead_bytes -= len(data)
                        yield data
                    self._check(item)
                    data = bytearray(item.length)
                    ahead.append((data, [pool.submit(get) for get in self._gets(item, data)]))
                    ahead_bytes += item.length
                while ahead:
                    yield _arrived(*ahead.popleft())
            finally:
                pool.shutdown(cancel_futures=True)

    def _check(self, item: Item) -> None:
        size = sum(size for _, size in self._pieces.get(item.name, []))
        if not 0 <= item.start <= item.start + item.length <= size:
            raise CheckpointError(
                f"{self._directory}: {item.name} has no {item.length} bytes at {item.start}"
            )

    def _gets(self, item: Item, into: bytearray) -> Iterator["_Get"]:
        """Yield what fetches an item, range by range."""
        at, left = item.start, memoryview(into)
        for name, size in self._pieces[item.name]:
            while left and at < size:
                length = min(len(left), size - at, _RANGE_BYTES)
                yield _Get(self._directory / name, at, left[:length])
                at, left = at + length, left[length:]
            at -= min(at, size)


@dataclass(frozen=True, slots=True)
class _Get:
    """Fetches one range."""

    place: Place
    start: int
    into: memoryview

    def __call__(self) -> None:
        if isinstance(self.place, ObjectPlace):
            self.into[:] = self.place.bucket.get_range(self.place.key, self.start, len(self.into))
            return
        with self.place.open("rb") as file:
            file.seek(self.start)
            self.into[:] = file.read(len(self.into))


def _arrived(data: bytearray, gets: list[Future[None]]) -> bytearray:
    for get in gets:
        get.result()
    return data


def _sizes(directory: Place) -> dict[str, int]:
    if isinstance(directory, ObjectPlace):
        return sizes_in(directory)
    with os.scandir(directory) as entries:
        return {e.name: e.stat(follow_symlinks=False).st_size for e in entries if e.is_file()}
