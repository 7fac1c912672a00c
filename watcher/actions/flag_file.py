"""Writes the flag file ``notice.json``, which tells the trainers on this node what is coming."""

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from watcher.actions.flag_v1 import Writer, compose
from watcher.actions.spare_descriptor import SpareDescriptor
from watcher.errors import ActionRetryable
from watcher.metrics import Metrics
from watcher.notice import Moment, Standing
from watcher.side_thread import SideThread
from watcher.state import State

FLAG_NAME = "notice.json"
DRAFT_NAME = ".notice.json.new"
_DRAFT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
ADVICE = (
    "It has to be a directory that the daemon's user can write, made before the daemon starts "
    "(systemd-tmpfiles, or a hostPath directory in Kubernetes); --run-dir or REPRIEVE_RUN_DIR "
    "names another"
)


class FlagFile:
    """Keeps the flag file equal to what is in force: written, rewritten, and removed at the end.

    Both directions do the same, because the file shows the whole state and not one notice. So a
    retry that comes late can't bring a withdrawn notice back, nor hide a more urgent one.
    """

    name = "flag_file"

    def __init__(
        self,
        run_dir: Path,
        writer: Writer,
        state: State,
        metrics: Metrics,
        now: Callable[[], Moment],
    ) -> None:
        self._run_dir = run_dir
        self._writer = writer
        self._state = state
        self._metrics = metrics
        self._now = now
        self._seq = 0
        self._written_at_s = 0.0
        self._thread = SideThread[str](self.name)
        self._spare = SpareDescriptor()

    async def run(self, _standing: Standing, /) -> str:
        """Write the flag file for all that is in force; see :class:`base.Action`.

        Raises:
            ActionRetryable: The run directory can't be written at the moment.
        """
        what = await self._thread.call(self._plan)
        self._metrics.flag_written.set(self._written_at_s)
        return what

    async def undo(self, standing: Standing, /) -> str:
        """Write the flag file for what is still in force, or remove it; raises as run does."""
        return await self.run(standing)

    def _plan(self) -> Callable[[], str]:
        in_force = self._state.in_force()
        if not in_force:
            self._written_at_s = 0.0
            return self._remove
        written = self._now()
        # Milliseconds of boottime: grows with every write of one boot, across restarts.
        self._seq = max(self._seq + 1, int(written.boottime_s * 1000))
        self._written_at_s = written.wall.timestamp()
        return partial(self._write, compose(in_force, self._writer, written, self._seq))

    def _write(self, data: bytes) -> str:
        """Put the file in place in one step; no fsync, because a reboot voids it anyway."""
        draft = self._run_dir / DRAFT_NAME
        try:
            with self._spare.given_up():
                descriptor = open_new(draft)
                with os.fdopen(descriptor, "wb") as file:
                    os.fchmod(descriptor, 0o644)  # whatever the umask: trainers run as other users
                    file.write(data)
            draft.replace(self._run_dir / FLAG_NAME)
        except OSError as error:
            raise ActionRetryable(f"can't write the flag file: {advice(error)}") from error
        return f"wrote {self._run_dir / FLAG_NAME}"

    def _remove(self) -> str:
        try:
            (self._run_dir / FLAG_NAME).unlink(missing_ok=True)
        except OSError as error:
            raise ActionRetryable(f"can't remove the flag file: {advice(error)}") from error
        return f"removed {self._run_dir / FLAG_NAME}"


def open_new(draft: Path) -> int:
    """Return a descriptor of a new file there; what an earlier run has left is removed.

    Opened as it is, a fifo would hang, and a file of another user could not be written.
    """
    draft.unlink(missing_ok=True)
    return os.open(draft, _DRAFT_FLAGS, 0o644)


def advice(error: OSError) -> str:
    """Return what the system said about which path, and what a person can do about it."""
    path = error.filename2 or error.filename
    if error.errno == errno.EISDIR:
        return f"{path}: is a directory where the daemon puts a file. Remove it"
    return f"{path}: {error.strerror}. {ADVICE}"
