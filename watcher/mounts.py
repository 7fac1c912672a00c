"""On which file system a directory is: in memory no write can wait for a device."""

import os
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_IN_MEMORY = ("tmpfs", "ramfs")


def is_in_memory(directory: Path) -> bool:
    """Tell whether the directory is on a file system without a device; if unknown, it is not."""
    return file_system(directory) in _IN_MEMORY


def file_system(directory: Path) -> str | None:
    """Return the type of the file system on which the directory is; None if it is unknown.

    Source: proc_pid_mountinfo(5): the third field is major:minor, the first after the dash the
    file system's type (read 2026-11-30).
    """
    try:
        device = directory.stat().st_dev
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split()[2] == number:
            return after.split()[0]
    return None
