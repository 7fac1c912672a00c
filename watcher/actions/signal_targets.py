"""Whom the signal action signals: the process of a pid file, or all of a cgroup or unit.

A target is asked twice, before and after its processes are held by their pidfds, so that a pid
which has passed on to another process in between is never signalled. Nobody is ever looked up by
name.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from watcher.errors import ActionRetryable

_PID_FILE_LIMIT_BYTES = 64

_HIERARCHIES = (
    Path("/sys/fs/cgroup"),
    Path("/sys/fs/cgroup/unified"),
    Path("/sys/fs/cgroup/systemd"),
)
"""Where systemd keeps units: version 2, hybrid and version 1 (systemd.io/CGROUP_DELEGATION, read
2026-11-30)."""

_PROCESSES_LIMIT = 400
"""More than a node's trainers and their loaders; each is held by one of 1,024 descriptors."""


class Target(Protocol):
    """Names the processes that are to be signalled."""

    def pids(self) -> list[int]:
        """Return who they are now, in our pid namespace; never nobody.

        Neither init nor this daemon is among them, whatever is written where.

        Raises:
            ActionRetryable: There is nobody, or it can't be read.
        """


class PidFile:
    """The process whose pid a file holds, whose writer is not trusted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def pids(self) -> list[int]:
        """Return the one; see :class:`Target`. 0 and negative numbers would mean groups."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        text = b""
        try:
            with os.fdopen(os.open(self._path, flags), "rb") as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    text = file.read(_PID_FILE_LIMIT_BYTES).strip()
        except OSError as error:
            raise ActionRetryable(f"no pid in {self._path}: {error.strerror}") from error
        pid = int(text) if text.isdigit() and len(text) < 10 else 0
        if not _may_be_meant(pid):
            raise ActionRetryable(f"no pid in {self._path}: {text!r}")
        return [pid]


class Cgroup:
    """All processes of a cgroup and of those below it: a unit's, a Slurm step's, a container's."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __str__(self) -> str:
        return str(self._directory)

    def pids(self) -> list[int]:
        """Return all that are in it; see :class:`Target`.

        The kernel shows 0 for a process of another pid namespace, which nobody can signal.
        """
        found: list[int] = []
        try:
            for folder, _, names in os.walk(self._directory, onerror=_say):
                if "cgroup.procs" in names and len(found) < _PROCESSES_LIMIT:
                    text = (Path(folder) / "cgroup.procs").read_text(encoding="ascii")
                    found += [int(word) for word in text.split() if word.isdigit()]
        except (OSError, UnicodeDecodeError) as error:
            raise ActionRetryable(f"no processes in {self._directory}: {error}") from error
        meant = sorted({pid for pid in found if _may_be_meant(pid)})[:_PROCESSES_LIMIT]
        if not meant:
            raise ActionRetryable(f"no processes in {self._directory}: it is empty")
        return meant


class Unit:
    """All processes of a systemd unit: those of its cgroup, wherever systemd has put it."""

    def __init__(self, name: str, hierarchies: Sequence[Path] = _HIERARCHIES) -> None:
        self._name = name
        self._hierarchies = hierarchies

    def __str__(self) -> str:
        return self._name

    def pids(self) -> list[int]:
        """Return all that are in it; see :class:`Target`."""
        for hierarchy in self._hierarchies:
            directory = self._directory(hierarchy)
            if directory is not None:
                return Cgroup(directory).pids()
        raise ActionRetryable(f"no processes in {self._name}: it does not run")

    def _directory(self, hierarchy: Path) -> Path | None:
        """Find it in slices alone: below a service, others may name cgroups as they like."""
        for folder, names, _ in os.walk(hierarchy):
            if self._name in names:
                return Path(folder) / self._name
            names[:] = sorted(name for name in names if name.endswith(".slice"))
        return None


def _may_be_meant(pid: int) -> bool:
    return pid > 1 and pid != os.getpid()


def _say(error: OSError) -> None:
    """Pass on what ``os.walk`` would hide, but for a cgroup that has just gone."""
    if not isinstance(error, FileNotFoundError):
        raise error
