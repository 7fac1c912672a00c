"""DCP's file writer, with the digest of every file taken as its bytes go by.

A digest taken from the file afterwards would certify whatever the disk made of it, and read every
byte twice.
"""

import io
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import xxhash
from torch.distributed.checkpoint import FileSystemWriter
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from trainer_hooks.checkpoint.layout import is_shard
from trainer_hooks.checkpoint.manifest import FileEntry, digest_of
from trainer_hooks.checkpoint.parts import PartedStream
from trainer_hooks.checkpoint.place import ObjectPlace, Place
from trainer_hooks.checkpoint.turns import ALL_AT_ONCE, Turns
from trainer_hooks.errors import CheckpointError


class _DigestedStream(io.RawIOBase):
    """Passes bytes on and digests them. Not seekable, or the digest would be of other bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = xxhash.xxh3_128()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - typeshed's own Buffer is private
        # The file is buffered: it takes all or raises.
        written = self._file.write(data)
        self.digest.update(data)
        self.size += written
        return written

    def tell(self) -> int:  # DCP notes where each item begins
        return self.size

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()

    def fileno(self) -> int:
        self._file.flush()  # whoever asks is about to sync
        return self._file.fileno()


class _DigestingFileSystem(FileSystem):
    """A FileSystem that keeps a FileEntry of every file written through it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.entries: dict[str, FileEntry] = {}

    @contextmanager
    def create_stream(
        self, path: str | os.PathLike[str], mode: str
    ) -> Generator[io.IOBase, None, None]:
        # "x": a save's directory is fresh, so a file that exists is somebody else's.
        with Path(path).open("xb" if mode == "wb" else mode) as file:
            stream = _DigestedStream(cast("BinaryIO", file))
            yield stream
        name = Path(path).relative_to(self.root).as_posix()
        self.entries[name] = FileEntry(name, stream.size, stream.digest.hexdigest())

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        super().rename(path, new_path)  # .metadata.tmp -> .metadata
        entry = self.entries.pop(Path(path).relative_to(self.root).as_posix())
        name = Path(new_path).relative_to(self.root).as_posix()
        self.entries[name] = FileEntry(name, entry.size, entry.digest)


class _DigestingBucket(FileSystem):
    """The same in a bucket: shards go up in parts, the index as one object."""

    def __init__(self, directory: ObjectPlace) -> None:
        self._directory = directory
        self.entries: dict[str, FileEntry] = {}

    @contextmanager
    def create_stream(
        self, path: str | os.PathLike[str], mode: str
    ) -> Generator[io.IOBase, None, None]:
        name = Path(path).name
        if mode != "wb" or not is_shard(name):
            index = io.BytesIO()
            yield index
            self._put(name.removesuffix(".tmp"), index.getvalue())
            return
        stream = PartedStream(self._directory, name)
        try:
            yield stream
            stream.close()
        finally:
            stream.abandon()
        self.entries.update({entry.name: entry for entry in stream.entries})

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Do nothing: an object that is put is whole or absent under its own name."""

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Do nothing: there are no directories."""

    def exists(self, _: str | os.PathLike[str]) -> bool:
        """Answer for a directory that was just reserved."""
        return False

    def _put(self, name: str, data: bytes) -> None:
        place = self._directory / name
        place.bucket.put(place.key, data)
        self.entries[name] = FileEntry(name, len(data), digest_of(data))


class DigestingWriter(FileSystemWriter):
    """Writes one rank's shards and ``.metadata``; ``files`` then names what it has written.

    Args:
        directory: The save's.
        turns: In which the ranks of this node write their shards.
    """

    def __init__(self, directory: Place, turns: Turns = ALL_AT_ONCE) -> None:
        self._turns = turns
        is_file_system = isinstance(directory, Path)
        super().__init__(
            directory if isinstance(directory, Path) else "",
            single_file_per_rank=True,
            sync_files=is_file_system,  # or torch syncs the whole machine for want of a file
            thread_count=1,
        )
        self.fs: _DigestingFileSystem | _DigestingBucket = (
            _DigestingFileSystem(directory)
            if isinstance(directory, Path)
            else _DigestingBucket(directory)
        )

    @property
    def files(self) -> list[FileEntry]:
        """What this rank has written, with sizes and digests."""
        return list(self.fs.entries.values())

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write this rank's part of the plan, and see that none of it is missing.

        A writing side thread that meets a full disk dies in silence, and DCP reports success
        (trainer-facts 8.14, 2026-11-30); there are none here today, and this keeps it so.

        Raises:
            CheckpointError: An item of the plan was not written.
            OSError: The disk is full, say.
        """
        try:
            with self._turns.turn():
                written: Future[list[WriteResult]] = super().write_data(plan, planner)
        except RuntimeError as error:
            # torch's writer ends its file even then, and complains of the file it finds instead.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise
        results = {result.index for result in written.wait()}
        missing = [item.index for item in plan.items if item.index not in results]
        if missing:
            raise CheckpointError(f"{len(missing)} items were not written, first {missing[0]}")
        return written
