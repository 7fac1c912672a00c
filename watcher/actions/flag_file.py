"""Writes the flag file ``notice.json``, which tells the trainers on this node what is coming."""

import logging
import os
import stat
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from watcher.actions.flag_v1 import Writer, compose, parse
from watcher.errors import ActionRetryable, ConfigError, FlagUnreadable
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice, Standing
from watcher.side_thread import SideThread
from watcher.state import State

log = logging.getLogger(__name__)

FLAG_NAME = "notice.json"
_DRAFT_NAME = ".notice.json.new"
_DRAFT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_FLAG_LIMIT_BYTES = 256 * 1024
_ADVICE = (
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
        draft = self._run_dir / _DRAFT_NAME
        try:
            descriptor = os.open(draft, _DRAFT_FLAGS, 0o644)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o644)  # whatever the umask: trainers run as other users
                file.write(data)
            draft.replace(self._run_dir / FLAG_NAME)
        except OSError as error:
            raise ActionRetryable(f"can't write the flag file: {_advice(error)}") from error
        return f"wrote {self._run_dir / FLAG_NAME}"

    def _remove(self) -> str:
        try:
            (self._run_dir / FLAG_NAME).unlink(missing_ok=True)
        except OSError as error:
            raise ActionRetryable(f"can't remove the flag file: {_advice(error)}") from error
        return f"removed {self._run_dir / FLAG_NAME}"


def prepare_run_dir(run_dir: Path) -> None:
    """Make sure that a flag can be written to the run directory; blocks, for use at start.

    Raises:
        ConfigError: It is missing, no directory, or can't be written.
    """
    draft = run_dir / _DRAFT_NAME
    if not run_dir.is_dir():
        raise ConfigError(f"run directory {run_dir}: not there, or no directory. {_ADVICE}")
    try:
        os.close(os.open(draft, _DRAFT_FLAGS, 0o644))
        draft.unlink()
    except OSError as error:
        raise ConfigError(f"run directory {run_dir}: {error.strerror}. {_ADVICE}") from error


def adopt_flag(run_dir: Path, boot_id: str, sources: Collection[str]) -> Notice | None:
    """Return the notice that an earlier run of the daemon left in force; blocks, for use at start.

    A flag is removed when it is void (of another boot), can't be understood, or came from none of
    the ``sources``, so that nobody would ever withdraw it.

    Raises:
        ConfigError: It can be neither read nor removed.
    """
    path = run_dir / FLAG_NAME
    try:
        notice = parse(_read(path), boot_id)
        _check_source(notice, sources)
    except FileNotFoundError:
        return None
    except (FlagUnreadable, OSError) as error:
        log.warning("flag removed path=%s why=%s", path, error)
    else:
        return notice
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"a void flag can't be removed: {_advice(error)}") from error
    return None


def _check_source(notice: Notice, sources: Collection[str]) -> None:
    if notice.source not in sources:
        raise FlagUnreadable(f"written for source {notice.source}, which is not enabled")


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FlagUnreadable("not a regular file")
        return file.read(_FLAG_LIMIT_BYTES)


def _advice(error: OSError) -> str:
    """Return what the system said about which path, and what a person can do about it."""
    return f"{error.filename}: {error.strerror}. {_ADVICE}"
