"""Writes the flag file ``notice.json``, which tells the trainers on this node what is coming."""

import errno
import logging
import os
import stat
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from watcher.actions.flag_v1 import Writer, compose, parse
from watcher.actions.spare_descriptor import SpareDescriptor
from watcher.errors import ActionRetryable, ConfigError, FlagUnreadable, StartFailed
from watcher.metrics import Metrics
from watcher.notice import Moment, Notice, NoticeKind, Standing
from watcher.side_thread import SideThread
from watcher.state import State

log = logging.getLogger(__name__)

FLAG_NAME = "notice.json"
_DRAFT_NAME = ".notice.json.new"
_DRAFT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FLAG_LIMIT_BYTES = 256 * 1024
_PASSING = frozenset(
    {
        errno.EAGAIN,
        errno.EDQUOT,
        errno.EINTR,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""What no setting can mend and time may."""

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
        draft = self._run_dir / _DRAFT_NAME
        try:
            with self._spare.given_up():
                descriptor = _open_new(draft)
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
        StartFailed: The machine is short of something that may be back soon.
    """
    draft = run_dir / _DRAFT_NAME
    try:
        if not run_dir.is_dir():
            raise ConfigError(f"run directory {run_dir}: not there, or no directory. {_ADVICE}")
        os.close(_open_new(draft))
        draft.unlink()
    except OSError as error:
        raise _at_start(f"run directory {run_dir}", error) from error


def adopt_flag(
    run_dir: Path, boot_id: str, sources: Mapping[str, Collection[NoticeKind]]
) -> Notice | None:
    """Return the notice that an earlier run of the daemon left in force; blocks, for use at start.

    A flag is removed when it is void (of another boot), can't be understood, or is of a kind that
    none of the ``sources`` tells of under that name, so that nobody would ever withdraw it.

    Raises:
        ConfigError: It can be neither read nor removed.
        StartFailed: It can't be at the moment.
    """
    path = run_dir / FLAG_NAME
    try:
        notice = parse(_read(path), boot_id)
        _check_source(notice, sources)
    except FileNotFoundError:
        return None
    except (FlagUnreadable, OSError) as error:
        if isinstance(error, OSError) and error.errno in _PASSING:
            raise _at_start("the flag can't be read", error) from error
        why = str(error)
    else:
        return notice
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _at_start("a void flag can't be removed", error) from error
    log.warning("flag removed path=%s why=%s", path, why)
    return None


def _check_source(notice: Notice, sources: Mapping[str, Collection[NoticeKind]]) -> None:
    if notice.source not in sources:
        raise FlagUnreadable(f"written for source {notice.source}, which is not enabled")
    if notice.kind not in sources[notice.source]:
        raise FlagUnreadable(f"source {notice.source} never tells of a {notice.kind}")


def _open_new(draft: Path) -> int:
    """Return a descriptor of a new file there; what an earlier run has left is removed.

    Opened as it is, a fifo would hang, and a file of another user could not be written.
    """
    draft.unlink(missing_ok=True)
    return os.open(draft, _DRAFT_FLAGS, 0o644)


def _at_start(what: str, error: OSError) -> ConfigError | StartFailed:
    if error.errno in _PASSING:
        return StartFailed(f"{what}: {error.strerror}. That may pass; start the daemon again")
    return ConfigError(f"{what}: {_advice(error)}")


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FlagUnreadable("not a regular file")
        return file.read(_FLAG_LIMIT_BYTES)


def _advice(error: OSError) -> str:
    """Return what the system said about which path, and what a person can do about it."""
    path = error.filename2 or error.filename
    if error.errno == errno.EISDIR:
        return f"{path}: is a directory where the daemon puts a file. Remove it"
    return f"{path}: {error.strerror}. {_ADVICE}"
