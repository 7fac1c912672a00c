"""The one clock of deadlines: CLOCK_BOOTTIME, which runs on while the machine is suspended.

And what the kernel counts from boot: which boot it is, and when a process began.
"""

import time
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = Path("/proc/self/ns/time")
_OF_MACHINE = 0xEFFFFFFA
"""TIME_NS_INIT_INO of linux/nsfs.h (read 2026-11-30)."""


def boottime_s() -> float:
    """Return the seconds since boot, suspend included; every deadline here is such an instant."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str | None:
    """Return the identity of the running boot, or None where the system hides it."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return None


def is_boottime_shifted() -> bool:
    """Tell whether this process is in a time namespace, whose CLOCK_BOOTTIME may be its own."""
    try:
        return _TIME_NAMESPACE.stat().st_ino != _OF_MACHINE
    except OSError:  # a kernel that knows none
        return False


def process_began_ticks(pid: int | None = None) -> int:
    """Return when a process was started, this one if none is named, in clock ticks since boot.

    Raises:
        OSError: There is none of that number, or the system hides it.
        ValueError: The system says something else.
    """
    # Field 22. The name before it, in parentheses, may hold anything. Source: proc(5)
    path = Path("/proc", "self" if pid is None else str(pid), "stat")
    fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    if len(fields) < 20:
        raise ValueError(f"{path} has no start time")
    return int(fields[19])


def seconds_left(deadline_s: float | None) -> float | None:
    """Return how long it is to ``deadline_s``, at least 0; None stands for no known deadline."""
    return None if deadline_s is None else max(0.0, deadline_s - boottime_s())
