"""The one clock of deadlines: CLOCK_BOOTTIME, which runs on while the machine is suspended."""

import time
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boottime_s() -> float:
    """Return the seconds since boot, suspend included; every deadline here is such an instant."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str | None:
    """Return the identity of the running boot, or None where the system hides it."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return None


def seconds_left(deadline_s: float | None) -> float | None:
    """Return how long it is to ``deadline_s``, at least 0; None stands for no known deadline."""
    return None if deadline_s is None else max(0.0, deadline_s - boottime_s())
