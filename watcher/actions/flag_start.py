"""What a start does about the run directory and about the flag that an earlier run has left."""

import errno
import logging
import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from watcher.actions.flag_file import ADVICE, DRAFT_NAME, FLAG_NAME, advice
from watcher.actions.flag_v1 import parse
from watcher.actions.reserved_draft import open_new
from watcher.errors import ConfigError, FlagUnreadable, StartFailed
from watcher.notice import Notice, NoticeKind

log = logging.getLogger(__name__)

_FLAG_LIMIT_BYTES = 256 * 1024
PASSING = frozenset(
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


def prepare_run_dir(run_dir: Path) -> None:
    """Make sure that a flag can be written to the run directory; blocks, for use at start.

    Raises:
        ConfigError: It is missing, no directory, or can't be written.
        StartFailed: The machine is short of something that may be back soon.
    """
    draft = run_dir / DRAFT_NAME
    try:
        if not run_dir.is_dir():
            raise ConfigError(f"run directory {run_dir}: not there, or no directory. {ADVICE}")
        os.close(open_new(draft))
        draft.unlink()
    except OSError as error:
        raise at_start(f"run directory {run_dir}", error) from error


def adopt_flag(
    run_dir: Path,
    boot_id: str,
    sources: Mapping[str, Collection[NoticeKind]],
    unheard: Collection[str] = (),
) -> Notice | None:
    """Return the notice that an earlier run of the daemon left in force; blocks, for use at start.

    A flag is removed when it is void (of another boot), can't be understood, or is of a kind that
    none of the ``sources`` tells of under that name, so that nobody would ever withdraw it. It
    stays where one of the ``unheard`` sources has written it: this boot has heard it, so that its
    cloud is only silent now.

    Raises:
        ConfigError: It can be neither read nor removed.
        StartFailed: It can't be at the moment, or it is of an unheard source.
    """
    path = run_dir / FLAG_NAME
    try:
        notice = parse(read_file(path, _FLAG_LIMIT_BYTES), boot_id)
        check_heard(notice, unheard, path)
        check_source(notice, sources)
    except FileNotFoundError:
        return None
    except (FlagUnreadable, OSError) as error:
        if isinstance(error, OSError) and error.errno in PASSING:
            raise at_start("the flag can't be read", error) from error
        discard("flag", path, str(error))
        return None
    return notice


def discard(what: str, path: Path, why: str) -> None:
    """Remove a file of an earlier run that means nothing to this one.

    Raises:
        ConfigError: It can't be removed.
        StartFailed: It can't be at the moment.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise at_start(f"a void {what} can't be removed", error) from error
    log.warning("%s removed path=%s why=%s", what, path, why)


def check_heard(notice: Notice, unheard: Collection[str], path: Path) -> None:
    """Make sure that a notice's source is not merely silent at this start.

    Raises:
        StartFailed: It is; ``path`` names the file that holds its notice.
    """
    if notice.source in unheard:
        raise StartFailed(
            f"{path} holds a notice of {notice.source}, which has proved nothing at this start. "
            "That may pass; start the daemon again, or name the cloud (cloud = ...), or remove "
            "the file"
        )


def check_source(notice: Notice, sources: Mapping[str, Collection[NoticeKind]]) -> None:
    """Make sure that one of the sources can tell of such a notice, and take it back.

    Raises:
        FlagUnreadable: None can.
    """
    if notice.source not in sources:
        raise FlagUnreadable(f"written for source {notice.source}, which is not enabled")
    if notice.kind not in sources[notice.source]:
        raise FlagUnreadable(f"source {notice.source} never tells of a {notice.kind}")


def read_file(path: Path, limit_bytes: int) -> bytes:
    """Return what a regular file holds, up to a limit; another user may have put it there.

    Raises:
        FlagUnreadable: It is no regular file.
        OSError: It can't be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FlagUnreadable("not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit_bytes)
    finally:
        os.close(descriptor)


def at_start(what: str, error: OSError) -> ConfigError | StartFailed:
    """Return what a start fails with: a passing shortage, or what a person has to mend."""
    if error.errno in PASSING:
        return StartFailed(f"{what}: {error.strerror}. That may pass; start the daemon again")
    return ConfigError(f"{what}: {advice(error)}")
