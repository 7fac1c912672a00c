"""A stretch of a shard as a stream, over the pieces in which it was fetched.

Putting the pieces together first would be one more copy of every byte, and the largest part of the
work of a resume beside the network's.
"""

import io
import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


class Stretch(io.RawIOBase):
    """Bytes that lie in several pieces, as one seekable stream; nothing is copied until it is read.

    Args:
        pieces: Of bytes, in their order.
    """

    def __init__(self, pieces: Sequence[memoryview]) -> None:
        self._pieces = pieces
        self._ends = [*accumulate(map(len, pieces))]
        self._at = 0

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def readable(self) -> bool:
        """Say yes."""
        return True

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self)}[whence]
        return self._at

    def tell(self) -> int:
        """Return where that is."""
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's own Buffer is private
        """Fill a buffer as far as there are bytes: torch takes less than it wants for the end."""
        left = memoryview(buffer).cast("B")
        for number in range(bisect_right(self._ends, self._at), len(self._pieces)):
            if not left:
                break
            piece = self._pieces[number]
            part = piece[len(piece) - (self._ends[number] - self._at) :][: len(left)]
            left[: len(part)] = part
            left = left[len(part) :]
            self._at += len(part)
        return len(memoryview(buffer).cast("B")) - len(left)
