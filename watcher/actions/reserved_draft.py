"""A draft that is there before it is needed: opened, with its space taken.

The run directory often shares a tmpfs with all of /run. When that is full, or every descriptor is
in use, is no time to begin a file.
"""

import contextlib
import os
from pathlib import Path

RESERVED_BYTES = (16 * 1024, 4 * 1024)
"""Space that is kept, in bytes: for the longest flag or, where that can't be had, for most."""

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ReservedDraft:
    """A file that takes another one's place in one step; not for use in two threads at a time.

    Where nothing can be reserved, the next write has to do without.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: int | None = None
        self._reserve()

    def replace(self, target: Path, data: bytes) -> None:
        """Put a file with ``data`` in the target's place, for everybody to read.

        There is no fsync: what is written here is void after a reboot anyway.

        Raises:
            OSError: It can't be done at the moment; the target is as it was.
        """
        try:
            descriptor = self._taken()
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o644)  # whatever the umask: trainers run as other users
                file.write(data)
                file.truncate()
            self._path.replace(target)
        finally:
            self._reserve()

    def _taken(self) -> int:
        """Return the reserved file, or a new one if somebody has removed that."""
        descriptor, self._held = self._held, None
        if descriptor is None:
            return open_new(self._path)
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), self._path.lstat()):
                return descriptor
        os.close(descriptor)
        return open_new(self._path)

    def _reserve(self) -> None:
        try:
            self._held = open_new(self._path)
        except OSError:
            return
        for size in RESERVED_BYTES:
            with contextlib.suppress(OSError):
                os.posix_fallocate(self._held, 0, size)
                return


def open_new(draft: Path) -> int:
    """Return a descriptor of a new file there; what an earlier run has left is removed.

    Opened as it is, a fifo would hang, and a file of another user could not be written.
    """
    draft.unlink(missing_ok=True)
    return os.open(draft, _FLAGS, 0o644)
