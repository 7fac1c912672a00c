"""The checks of the run directory, where watcher and trainers meet; nothing is written there.

docs/contracts.md says what it has to be like.
"""

import os
import pwd
import stat
from pathlib import Path

from watcher.actions.flag_file import ADVICE
from watcher.finding import Finding, ok, unknown, wrong
from watcher.mounts import file_system, is_in_memory

ROOM_BYTES = 1024 * 1024
"""Room that has to be left: a flag of the largest size twice, the state file, and some reports."""

_REMAKE = "make it as deploy/systemd/tmpfiles.conf does, or as the DaemonSet's init container"


def checks(run_dir: Path, *, is_request_heard: bool) -> list[Finding]:
    """Return what is found about the directory, as the user who asks sees it.

    Args:
        run_dir: The directory.
        is_request_heard: Whether any user's request for another node would be.
    """
    checked = f"run directory {run_dir}"
    try:
        found = run_dir.stat()
    except OSError as error:
        return [wrong(checked, error.strerror or "can't be seen", ADVICE)]
    if not stat.S_ISDIR(found.st_mode):
        return [wrong(checked, "is no directory", ADVICE)]
    return [
        _writable(checked, run_dir, found),
        _permissions(found),
        _room(run_dir),
        _place(run_dir / "trainers", found),
        _requests(run_dir / "requests", found, is_heard=is_request_heard),
    ]


def _writable(checked: str, run_dir: Path, found: os.stat_result) -> Finding:
    if os.access(run_dir, os.W_OK | os.X_OK):
        kept = file_system(run_dir) or "an unknown file system"
        device = "" if is_in_memory(run_dir) else ", so that a flag may wait for a device"
        return ok(checked, f"can be written by {_user(os.geteuid())}; on {kept}{device}")
    if os.statvfs(run_dir).f_flag & os.ST_RDONLY:
        return wrong(checked, "is mounted read-only", "mount it for writing where the daemon runs")
    owner, me = _user(found.st_uid), _user(os.geteuid())
    todo = f"ask as the daemon's user (sudo -u {owner}); if that is {me}: chown {me} {run_dir}"
    return wrong(checked, f"is {owner}'s, and {me} can't write there", todo)


def _permissions(found: os.stat_result) -> Finding:
    """Check that only the daemon writes flags, and that every trainer can read them."""
    checked, mode = "its permissions", stat.S_IMODE(found.st_mode)
    shown = f"{mode:04o}, {_user(found.st_uid)}'s"
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return wrong(checked, f"{shown}: others could forge a notice", f"chmod 0755; {_REMAKE}")
    if mode & 0o555 != 0o555:
        todo = f"chmod 0755; {_REMAKE}"
        return wrong(checked, f"{shown}: trainers of other users can't read the flag", todo)
    return ok(checked, shown)


def _room(run_dir: Path) -> Finding:
    checked = "room in it"
    try:
        left = os.statvfs(run_dir)
    except OSError as error:
        return unknown(checked, error.strerror or "can't be seen")
    free_bytes = left.f_bavail * left.f_frsize
    if free_bytes < ROOM_BYTES or (left.f_files and not left.f_favail):
        found = f"{free_bytes // 1024} KiB and {left.f_favail} files are left"
        return wrong(checked, found, "make room on its file system: no flag could be written")
    return ok(checked, f"{free_bytes // (1024 * 1024)} MiB are left")


def _requests(place: Path, above: os.stat_result, *, is_heard: bool) -> Finding:
    """Check the one that nobody needs as long as no request is heard."""
    if not is_heard and not os.path.lexists(place):
        return ok(f"{place.name}/ in it", "is not there, and not needed: no user's would be heard")
    return _place(place, above)


def _place(place: Path, above: os.stat_result) -> Finding:
    """Check one of the directories where trainers leave files."""
    checked = f"{place.name}/ in it"
    try:
        found = place.lstat()
    except OSError as error:
        return wrong(checked, error.strerror or "can't be seen", f"{_REMAKE}, with mode 1777")
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        return wrong(checked, "is no directory", f"remove it, and {_REMAKE}, with mode 1777")
    if mode != 0o1777:
        without = "could remove each other's files" if mode & 0o002 else "can't all write there"
        return wrong(checked, f"{mode:04o}: trainers {without}", f"chmod 1777 {place}")
    if found.st_dev == above.st_dev:
        return ok(checked, "1777; on the same file system, which whoever writes there can fill")
    return ok(checked, f"1777; on a file system of its own, {file_system(place) or 'unknown'}")


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
