"""A rank whose launcher is killed must not train on: nobody would know of it.

It would hold its GPU and its port, and race the job's next start. The kernel tells it, as a
SIGTERM, which means a stop like any other: finish the save in flight, commit, leave.
"""

import ctypes
import logging
import os
import signal

from trainer_hooks.results import LAUNCHER_PID_VARIABLE

log = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h."""


def stop_with_launcher() -> None:
    """Get SIGTERM when the launcher that started this rank dies; without one do nothing."""
    launcher = os.environ.get(LAUNCHER_PID_VARIABLE)
    if launcher is None:
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        log.warning("the launcher's death will go unnoticed: %s", os.strerror(ctypes.get_errno()))
    elif str(os.getppid()) != launcher:  # it died before
        os.kill(os.getpid(), signal.SIGTERM)
