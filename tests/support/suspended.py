"""A process on the other side of a suspend: CLOCK_BOOTTIME has gone on, CLOCK_MONOTONIC has not.

In a time namespace, whose offsets are set before its first process. So it is for processes that
are started after the suspend; one that runs can't be taken along.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

_FAKETIME = (
    *Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"),
    *(Path(one) for one in (os.environ.get("LIBFAKETIME"),) if one),
)


def boottime_ahead(by_s: int) -> Sequence[str]:
    """Return the command that starts another one with CLOCK_BOOTTIME ahead, and no other clock."""
    return ("unshare", "--time", f"--boottime={by_s}", "--kill-child", "--")


def after_suspend(for_s: int) -> Sequence[str]:
    """Return the same with the wall clock ahead as well, as a suspend leaves both.

    Python's ``time.sleep`` fails in there: libfaketime takes its instant on CLOCK_MONOTONIC for one
    on the wall clock. So it is for what waits by other means, or not at all.
    """
    fake = (f"LD_PRELOAD={_FAKETIME[-1]}", f"FAKETIME=+{for_s}", "FAKETIME_DONT_FAKE_MONOTONIC=1")
    return (*boottime_ahead(for_s), "env", *fake)


def why_no_boottime_ahead() -> str | None:
    """Return what is in the way of :func:`boottime_ahead`, or None."""
    if shutil.which("unshare") is None:
        return "unshare is not there: apt install util-linux"
    command = [*boottime_ahead(1), "true"]
    tried = subprocess.run(command, check=False, capture_output=True, text=True)
    return tried.stderr.strip() or "no time namespace" if tried.returncode else None


def why_no_suspend() -> str | None:
    """Return what is in the way of :func:`after_suspend`, or None."""
    if not _FAKETIME:
        return "libfaketime is not there: apt install libfaketime"
    return why_no_boottime_ahead()
