"""A rank whose launcher is killed must not train on: nobody would know of it.

It would hold its GPU and its port, and race the job's next start. The kernel tells it, as a
SIGTERM, which means a stop like any other: finish the save in flight, commit, leave.
"""

import ctypes
import logging
import os
import signal

log = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h."""


def stop_with_parent() -> None:
    """Get SIGTERM when the process that started this one dies. Lasts until exec."""
    parent = os.getppid()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        log.warning("the launcher's death will go unnoticed: %s", os.strerror(ctypes.get_errno()))
    elif os.getppid() != parent:  # it died just before
        os.kill(os.getpid(), signal.SIGTERM)
