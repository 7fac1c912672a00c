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
from typing import TypeAlias

from trainer_hooks.checkpoint.kept import Kept
from trainer_hooks.checkpoint.parts import part_number, whole_name
from trainer_hooks.checkpoint.place import ObjectPlace, Place, sizes_in
from trainer_hooks.checkpoint.stretch import Stretch
from trainer_hooks.errors import CheckpointError

READERS = 8
"""Requests of a rank at a time."""

AHEAD_BYTES = 256 * 1024 * 1024
"""So much is asked for before it is wanted, and one item at least."""

_RANGE_BYTES = 16 * 1024 * 1024

_Piece: TypeAlias = memoryview | Future[memoryview]


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """A stretch of a shard, as DCP's index has it."""

    name: str
    start: int
    length: int


class Shards:
    """The shards of one checkpoint.

    Args:
        directory: Where they lie.
        kept: What this process has of them already.
    """

    def __init__(self, directory: Place, kept: Kept | None = None) -> None:
        self._directory = directory
        self._kept = kept or Kept()
        self._parts: dict[str, list[tuple[str, int]]] = {}
        for name, size in sorted(_sizes(directory).items(), key=lambda of: part_number(of[0])):
            self._parts.setdefault(whole_name(name), []).append((name, size))

    @property
    def are_plain_files(self) -> bool:
        """True where a shard is a file, as DCP itself would read it."""
        is_parted = any(name != whole for whole, of in self._parts.items() for name, _ in of)
        return isinstance(self._directory, Path) and not is_parted

    def read(self, items: Iterable[Item]) -> Iterator[Stretch]:
        """Yield the items in their order, asking for the next ones meanwhile.

        Raises:
            OSError: One cannot be read.
            CheckpointError: There is no such stretch.
        """
        with ThreadPoolExecutor(READERS, thread_name_prefix="reprieve-get") as pool:
            ahead: deque[list[_Piece]] = deque()
            ahead_bytes = 0
            try:
                for item in items:
                    while ahead and ahead_bytes + item.length > AHEAD_BYTES:
                        stretch = _arrived(ahead.popleft())
                        ahead_bytes -= len(stretch)
                        yield stretch
                    self._check(item)
                    ahead.append([*self._pieces(item, pool)])
                    ahead_bytes += item.length
                while ahead:
                    yield _arrived(ahead.popleft())
            finally:
                pool.shutdown(cancel_futures=True)

    def _check(self, item: Item) -> None:
        size = sum(size for _, size in self._parts.get(item.name, []))
        if not 0 <= item.start <= item.start + item.length <= size:
            raise CheckpointError(
                f"{self._directory}: {item.name} has no {item.length} bytes at {item.start}"
            )

    def _pieces(self, item: Item, pool: ThreadPoolExecutor) -> Iterator[_Piece]:
        """Yield the pieces of an item: those that were kept, and those that are on their way."""
        at, left = item.start, item.length
        for name, size in self._parts[item.name]:
            length = max(0, min(left, size - at))
            kept = self._kept.stretch(name, at, length)
            if kept is not None:
                yield from kept
            else:
                for start in range(at, at + length, _RANGE_BYTES):
                    part = min(_RANGE_BYTES, at + length - start)
                    yield pool.submit(_get, self._directory / name, start, part)
            at, left = max(0, at - size), left - length


def _get(place: Place, start: int, length: int) -> memoryview:
    """Fetch a range."""
    if isinstance(place, ObjectPlace):
        return place.bucket.get_range(place.key, start, length)
    with place.open("rb") as file:
        file.seek(start)
        return memoryview(file.read(length))


def _arrived(pieces: list[_Piece]) -> Stretch:
    return Stretch([piece.result() if isinstance(piece, Future) else piece for piece in pieces])


def _sizes(directory: Place) -> dict[str, int]:
    if isinstance(directory, ObjectPlace):
        return sizes_in(directory)
    with os.scandir(directory) as entries:
        return {e.name: e.stat(follow_symlinks=False).st_size for e in entries if e.is_file()}
