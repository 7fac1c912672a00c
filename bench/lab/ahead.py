"""Observers that are not slowed down by what they observe."""

import os


def get_ahead() -> bool:
    """Let this thread run whenever it can, but none that it starts; tell whether that worked."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        return False
    return True
