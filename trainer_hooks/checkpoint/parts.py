"""A shard in a bucket: one object for every 32 MiB of it, so that parts go up side by side.

::

    __0_0.distcp.00000      the first 32 MiB of what would be __0_0.distcp on a file system
    __0_0.distcp.00001      the next

A multipart upload would hide what a crash leaves of it where no list shows it, and let it be paid
for until somebody sets up a rule against it. Parts that are objects are named in the manifest,
digested one by one, tried again one by one, and swept like all that a save consists of.
"""

import io
import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from trainer_hooks.checkpoint.manifest import FileEntry, digest_of
from trainer_hooks.checkpoint.place import ObjectPlace

PART_BYTES = 32 * 1024 * 1024
"""Large enough that a request's latency is nothing beside it, and small enough to be sent again."""

AT_ONCE = 4
"""So many parts of a rank are on their way at a time: they are what an upload takes of memory."""

_PART = re.compile(r"(?P<whole>.+\.distcp)\.(?P<number>\d{5,9})", re.ASCII)


def part_name(name: str, number: int) -> str:
    """Return the name of a part of a file."""
    return f"{name}.{number:05d}"


def whole_name(name: str) -> str:
    """Return the name of the file that a part is one of; any other name stays as it is."""
    match = _PART.fullmatch(name)
    return name if match is None else match["whole"]


def part_number(name: str) -> int:
    """Return which part it is; 0 for a file that is whole."""
    match = _PART.fullmatch(name)
    return 0 if match is None else int(match["number"])


class PartedStream(io.RawIOBase):
    """Puts what is written to it into a bucket, part by part. Not seekable.

    ``close`` waits until all of it is there; ``abandon`` until nothing more is written.

    Args:
        directory: The save's.
        name: The file's, relative to that.

    Raises:
        OSError: From ``write`` or ``close``: a part could not be put.
    """

    def __init__(self, directory: ObjectPlace, name: str) -> None:
        self._directory = directory
        self._name = name
        self._part = bytearray()
        self._parts = 0
        self._size = 0
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reprieve-put")
        self._on_their_way: deque[Future[FileEntry]] = deque()
        self.entries: list[FileEntry] = []
        """The parts that are there."""

    def writable(self) -> bool:
        """Say yes."""
        return True

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]  # typeshed's own Buffer is private
        """Take it all; wait where as many parts are on their way as may be."""
        view = memoryview(data).cast("B")
        length = len(view)
        while view:
            room = PART_BYTES - len(self._part)
            self._part += view[:room]
            view = view[room:]
            if len(self._part) == PART_BYTES:
                self._send()
        self._size += length
        return length

    def tell(self) -> int:
        """Return how much was written: DCP notes where each item begins."""
        return self._size

    def close(self) -> None:
        """Put what is left, and wait until all of it is there."""
        if self.closed:
            return
        try:
            if self._part or not self._parts:  # a shard of 0 bytes is legal, and has one part
                self._send()
            while self._on_their_way:
                self._arrive()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Write no more; return once what is on its way has arrived or failed."""
        self._pool.shutdown(cancel_futures=True)
        super().close()

    def _send(self) -> None:
        while len(self._on_their_way) >= AT_ONCE:
            self._arrive()
        name = part_name(self._name, self._parts)
        self._on_their_way.append(self._pool.submit(self._put, name, bytes(self._part)))
        self._part.clear()
        self._parts += 1

    def _arrive(self) -> None:
        self.entries.append(self._on_their_way.popleft().result())

    def _put(self, name: str, data: bytes) -> FileEntry:
        place = self._directory / name
        place.bucket.put(place.key, data)
        return FileEntry(name, len(data), digest_of(data))
