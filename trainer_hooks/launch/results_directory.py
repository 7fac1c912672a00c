"""Where the ranks of a launch leave word for it, and the end of what killed launches have left.

A launcher holds a lock on its directory while it lives, which the kernel takes from it however it
ends. So a directory of ours that can be locked has no launcher any more.
"""

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "reprieve-launch-"
"""Not ``reprieve-results-``, an older name: those launchers lock nothing, and would look dead."""

_OURS = re.compile(r"local_rank_\d+\.(json|tmp|refusal|part)", re.ASCII)


class ResultsDirectory:
    """A fresh directory for results, until ``remove``; at first dead ones are swept."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        for path in parent.glob(f"{_PREFIX}*"):
            _sweep(path)
        self.path, self._lock = _locked(parent)

    def remove(self) -> None:
        """Remove it, and what ranks have written there; once is enough."""
        _empty(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(parent: Path) -> tuple[Path, int | None]:
    """Make one and lock it; another launch may come between the two, and take it for a dead one."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        lock = _open(path)
        if lock is None:  # swept just then, or there are no descriptors left: it is not locked
            if path.is_dir():
                return path, None
            continue
        with contextlib.suppress(OSError):  # a file system without locks: nobody sweeps there
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.is_dir():
            return path, lock
        os.close(lock)


def _sweep(path: Path) -> None:
    """Remove a directory if it is ours and no launcher has it."""
    lock = _open(path)
    if lock is None:
        return
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _empty(path)
    except OSError:  # its launcher lives, or another launch is at it
        pass
    finally:
        os.close(lock)


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None


def _empty(path: Path) -> None:
    """Remove results and, if nothing else is there, the directory."""
    with contextlib.suppress(OSError):
        for name in _results(path):
            (path / name).unlink(missing_ok=True)
        path.rmdir()


def _results(path: Path) -> Iterator[str]:
    for entry in path.iterdir():
        if _OURS.fullmatch(entry.name) and stat.S_ISREG(entry.lstat().st_mode):
            yield entry.name
