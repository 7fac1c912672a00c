"""Turns in which the ranks of a node write: where all at once, they get in each other's way.

A rank takes one of so many places for as long as it writes its tensors, and no longer: it waits for
nobody with a place in its hand, least of all in one of DCP's collectives. A place is a byte of a
file that the kernel locks for a process. It is free again when the process ends, however it does,
and a child that is forked meanwhile does not inherit it.
"""

import fcntl
import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

log = logging.getLogger(__name__)

TURN_S = 600.0
"""How long a rank waits for one at most: as long as all wait for a rank that does not vote."""

_LOOK_S = 0.02
"""How often it looks for a free place, in seconds."""

_OF_NODE = Path("/dev/shm")  # noqa: S108 - a file system that no two nodes share; opened with care
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Turns:
    """The places of one run's writers on this node.

    Args:
        at_once: How many there are; None: a turn is always there, and nothing is opened.
        run: What tells the run from others here; the same on all ranks.
        turn_s: As ``TURN_S``.
    """

    is_hurried = False
    """True while there is no time to wait for a turn. Any thread may set it."""

    def __init__(self, at_once: int | None, run: str, turn_s: float = TURN_S) -> None:
        self._places = range(at_once or 0)
        self._turn_s = turn_s
        self._file: FileIO | None = None
        directory = _OF_NODE if os.access(_OF_NODE, os.W_OK) else Path(tempfile.gettempdir())
        digest = hashlib.blake2b(run.encode(), digest_size=8).hexdigest()
        self._path = directory / f"reprieve-writers-{os.getuid()}-{digest}"
        if at_once is not None:
            try:
                self._file = FileIO(os.open(self._path, _FLAGS, 0o600), "r+")
            except OSError as error:
                log.warning("more than %d ranks may write at once: %s", at_once, error)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a place, write, and leave it."""
        place = self._wait()
        try:
            yield
        finally:
            if place is not None and self._file is not None:
                with suppress(ValueError):  # it is closed, and the place free
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Give up the file, and leave none behind."""
        if self._file is not None and not self._file.closed:
            with suppress(OSError):
                self._path.unlink()
            self._file.close()

    def _wait(self) -> int | None:
        """Return a place; None where there is none in time, and this rank writes all the same."""
        give_up_s = time.monotonic() + self._turn_s
        while self._file is not None and not (self.is_hurried or self._file.closed):
            try:
                place = next(filter(self._take, self._places), None)
            except (OSError, ValueError) as error:
                log.warning("writing without a turn: %s cannot be locked: %s", self._path, error)
                return None
            if place is not None:
                return place
            if time.monotonic() >= give_up_s:
                log.warning("writing without a turn: none was free for %.0f s", self._turn_s)
                return None
            time.sleep(_LOOK_S)
        return None

    def _take(self, place: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)  # type: ignore[arg-type]  # there is one
        except (BlockingIOError, PermissionError):  # POSIX lets a system choose
            return False
        return True


ALL_AT_ONCE = Turns(None, "")
"""For those who wait for nobody."""
