"""Keeps the daemon's memory from being paged out: it sleeps for days, and then a second counts.

The pages of a program that sleeps are the first to go when trainers fill the machine, or where the
kernel reclaims idle memory anyway. Read back from disk one after the other, they are most of what
a notice takes.
"""

import ctypes
import os
import resource
from pathlib import Path

_LOCK = 1 | 2 | 4
"""MCL_CURRENT, MCL_FUTURE and MCL_ONFAULT: all that there is and comes, once it was touched.

Source: mlockall(2) and include/uapi/asm-generic/mman.h, for x86-64 and arm64 (read 2026-11-30)."""

_CAP_IPC_LOCK = 14
_STATUS = Path("/proc/self/status")


def stay_in_memory() -> str:
    """Lock what this process has touched and will touch; return why that is not possible, or "".

    Only where there is no limit to it: with one, a later allocation would fail.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit != resource.RLIM_INFINITY and not _may_lock():
        return (
            f"at most {limit} bytes may be locked: LimitMEMLOCK=infinity in the unit, or the "
            "capability IPC_LOCK, lifts that"
        )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_LOCK) != 0:
        return f"mlockall: {os.strerror(ctypes.get_errno())}"
    return ""


def _may_lock() -> bool:
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> _CAP_IPC_LOCK & 1)
