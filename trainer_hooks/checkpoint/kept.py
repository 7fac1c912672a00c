"""What a rank has fetched of a checkpoint to digest it, kept for its own load of it.

So a byte comes out of a bucket once, and what is loaded is what was digested. The memory for it is
there: the first save will want as much again for its copies of the tensors, when this is gone.
"""

import os
import threading
from collections.abc import Callable
from itertools import accumulate

from trainer_hooks.checkpoint.layout import is_shard
from trainer_hooks.checkpoint.manifest import FileEntry
from trainer_hooks.checkpoint.room import room_bytes

_SHARE = 0.5
"""Of the memory that is left. A run that has room for its optimizer and for the copies of a save
loses nothing: before the load comes no more than half of that."""

_HERE = "LOCAL_WORLD_SIZE"


class Kept:
    """The bytes of some shards.

    Args:
        room_bytes: So many at most; what does not fit is fetched again when it is loaded.
    """

    def __init__(self, room_bytes: int = 0) -> None:
        self._left_bytes = room_bytes
        self._chunks: dict[str, list[memoryview]] = {}
        self._reserving = threading.Lock()

    def keeper_of(self, entry: FileEntry) -> Callable[[memoryview], object]:
        """Return what to call with each chunk of a file, in their order. Any thread may ask."""
        with self._reserving:
            if not is_shard(entry.name) or entry.size > self._left_bytes:
                return bool
            self._left_bytes -= entry.size
            chunks = self._chunks[entry.name] = []
        return chunks.append

    def stretch(self, name: str, start: int, length: int) -> list[memoryview] | None:
        """Return the pieces of a stretch of a file; None if the file was not kept."""
        chunks = self._chunks.get(name)
        if chunks is None:
            return None
        begins = accumulate(map(len, chunks), initial=0)
        pieces = (
            chunk[max(0, start - begin) : max(0, start + length - begin)]
            for chunk, begin in zip(chunks, begins, strict=False)  # the last is where all end
        )
        return [piece for piece in pieces if piece]


def room_of_rank(world_size: int) -> int:
    """Return how many bytes each rank of this node may keep: all of them begin at the same time."""
    here = os.environ.get(_HERE, "")
    ranks = int(here) if here.isdecimal() else world_size
    return int(room_bytes() * _SHARE / max(1, ranks))
