"""One daemon at a time on a run directory; another one waits for its turn.

Two would move each other's drafts into place half written, and one would remove the other's flag
at its start, as of a source that its own settings do not have.
"""

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from watcher.actions.flag_start import at_start

log = logging.getLogger(__name__)


@contextlib.contextmanager
def held_alone(run_dir: Path) -> Iterator[None]:
    """Keep other daemons off the run directory in the block; blocks until the one before has ended.

    It waits and does not fail, so that the node is protected again as soon as that one has ended,
    however it ended: the system takes the lock from a process that dies.

    Raises:
        ConfigError: The directory is missing, or may not be read.
        StartFailed: The machine is short of something that may be back soon.
    """
    try:
        descriptor = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise at_start(f"run directory {run_dir}", error) from error
    try:
        _lock(descriptor, run_dir)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, run_dir: Path) -> None:
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.warning("waiting run_dir=%s why=another watcher uses it, and has to end", run_dir)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            log.info("the other watcher has ended run_dir=%s", run_dir)
    except OSError as error:
        # A file system without locks: a node without a watcher would be worse.
        log.warning("not locked run_dir=%s why=%s", run_dir, error)
