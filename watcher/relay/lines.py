"""Whole lines at the end of a file that relays share, or on standard output.

A full disk or a limit on the size of files cuts a write short. What is then left of a line never
counts as one, and never spoils the next line, which begins after a line break of its own.
"""

import contextlib
import errno
import fcntl
import os
import select
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from watcher.errors import ConfigError, WatcherError

_STDOUT = 1
_BREAK = b"\n"
_UNUSABLE = frozenset(
    {
        errno.EACCES,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOLCK,
        errno.ENOTDIR,
        errno.ENXIO,
        errno.EOPNOTSUPP,
        errno.EPERM,
        errno.EROFS,
    }
)
"""What waiting does not mend; a full disk, for one, may have room when the first notice comes."""


class ReaderGone(WatcherError):  # noqa: N818 - as in watcher.errors
    """Raised when nobody reads standard output any more; no later line can reach anybody."""


class Lines:
    """Where lines are appended; every method blocks.

    Args:
        path: The file, which may be a named pipe; None for standard output.
    """

    def __init__(self, path: Path | None) -> None:
        self.name = str(path or "standard output")
        """For people."""
        self._path = path
        self._is_ended: bool | None = None  # whether our last write ended a line

    def require_usable(self) -> None:
        """Make sure that lines can be appended, and make the file if it is not there.

        Raises:
            ConfigError: They can't be, and waiting does not mend that.
        """
        if self._path is None:
            if sys.stdout is None:  # Python's word for a closed one; its number may be taken by now
                raise ConfigError("relay.handler -: standard output is closed")
            return
        try:
            if self._path.is_fifo():  # to open one waits for its reader
                _require_access(self._path)
            else:
                with self._opened() as descriptor, _alone(descriptor):
                    self._is_cut(descriptor)
        except OSError as error:
            if error.errno in _UNUSABLE:
                raise ConfigError(f"relay.handler {self.name}: {_advice(error)}") from error

    def append(self, line: bytes) -> None:
        """Append a line, which ends with its line break; once this returns, all of it is there.

        Raises:
            OSError: It could not be appended, or only a part of it; that may pass.
            ReaderGone: Nobody reads standard output any more.
        """
        with self._opened() as descriptor, _alone(descriptor):
            rest = _BREAK + line if self._is_cut(descriptor) else line
            while rest:
                count = self._write(descriptor, rest)
                if count:
                    self._is_ended = rest[count - 1 : count] == _BREAK
                rest = rest[count:]

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        if self._path is None:
            yield _STDOUT
            return
        # Opened for each line, so that a file that was moved away is begun anew.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _is_cut(self, descriptor: int) -> bool:
        """Tell whether what was last written there, by whomever, may be no whole line."""
        if not _is_file(descriptor):
            return self._is_ended is False
        size = os.fstat(descriptor).st_size
        if size == 0:
            return False
        try:
            # By its number: the path may lead to another file by now.
            reading = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
        except PermissionError:  # of standard output, which somebody else has opened for us
            return self._is_ended is not True
        try:
            return os.pread(reading, 1, size - 1) != _BREAK
        finally:
            os.close(reading)

    def _write(self, descriptor: int, data: bytes) -> int:
        """Write as much as goes at once, and return how much that is."""
        try:
            return os.write(descriptor, data)
        except BlockingIOError:  # whoever opened it for us wants to wait for nothing; we do
            waiting = select.poll()
            waiting.register(descriptor, select.POLLOUT)
            waiting.poll()
            return 0
        except BrokenPipeError as error:
            if self._path is not None:  # a named pipe may find another reader
                raise
            raise ReaderGone("standard output: nobody reads it any more") from error


@contextlib.contextmanager
def _alone(descriptor: int) -> Iterator[None]:
    """Keep other relays from writing to the file in the block, so that no two lines mix."""
    if not _is_file(descriptor):
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _is_file(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _require_access(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _advice(error: OSError) -> str:
    if error.errno == errno.EISDIR:
        return "is a directory; name a file in it"
    return f"{error.strerror}; name a file that the relay may read, write and lock"
