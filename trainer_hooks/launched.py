"""A rank whose launcher is gone must not train on: nobody would know of it.

It would hold its GPU and its port, and race the job's next start for the checkpoint directory.
The launcher leaves word of itself in the environment, which reaches its ranks through any
wrapper between them; a pidfd of it turns readable when it dies.
"""

import math
import os
import select
from pathlib import Path

from trainer_hooks.clock import process_began_ticks
from trainer_hooks.errors import ConfigError, LauncherGoneError

GRACE_VARIABLE = "REPRIEVE_GRACE_S"
"""Seconds between a stop signal and SIGKILL, where somebody knows; ``launch --window`` does."""

VARIABLE = "REPRIEVE_LAUNCHER"
"""``pid:start time:pid namespace`` of the launcher: a pid alone may mean another process by now."""


def introduce_launcher() -> None:
    """Leave word of this process for the ranks it is going to start."""
    os.environ[VARIABLE] = _identity(os.getpid())


def open_launcher() -> int | None:
    """Return a descriptor that turns readable when our launcher dies; None without one.

    Raises:
        LauncherGoneError: It has died already.
    """
    wanted = os.environ.get(VARIABLE)
    if wanted is None or wanted.rpartition(":")[2] != _pid_namespace():
        return None  # from another namespace its pid says nothing
    pid = int(wanted.partition(":")[0])
    try:
        descriptor = os.pidfd_open(pid)
        # Asked after opening: the descriptor is of the process that has this start time.
        if _identity(pid) == wanted and not _has_died(descriptor):
            return descriptor
        os.close(descriptor)
    except (OSError, ValueError):
        pass
    raise LauncherGoneError(f"the launcher {wanted} of this rank has died: nothing is started")


def told_grace_s() -> float | None:
    """Return how long this process has after a stop signal; None if nobody has said.

    Raises:
        ConfigError: What was said is no number of seconds.
    """
    text = os.environ.get(GRACE_VARIABLE)
    if text is None:
        return None
    try:
        grace_s = float(text)
    except ValueError:
        grace_s = -1.0
    if not 0 <= grace_s < math.inf:
        raise ConfigError(f"{GRACE_VARIABLE} is a number of seconds, not {text!r}")
    return grace_s


def _has_died(descriptor: int) -> bool:
    """Tell whether a process is over; one that nobody has waited for yet still has its entry."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _identity(pid: int) -> str:
    return f"{pid}:{process_began_ticks(pid)}:{_pid_namespace()}"


def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)
