"""The save in flight is waited for, as long as there is time, and what becomes of it is said."""

import logging
import time
from collections.abc import Callable

from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.clock import boottime_s

log = logging.getLogger(__name__)

LOOK_S = 0.01
"""How often the save and the clock are looked at, in seconds: a deadline may come, or go."""

Gone = Callable[[], frozenset[int]]
"""Returns the ranks that have ended: nobody waits for them."""


def wait_for_last(checkpointer: Checkpointer) -> None:
    """Wait for the save in flight before the next one, and say so: the training waits as well."""
    last = checkpointer.last
    if last is None or last.ended.is_set():
        return
    began_s = time.monotonic()
    checkpointer.wait(None)
    log.warning(
        "the save of step %d was in flight as the next was due: training has waited %.1f s for it, "
        "and %s",
        last.name.step,
        time.monotonic() - began_s,
        "it is committed" if last.is_committed else "it has failed",
    )


def wait_in_time(checkpointer: Checkpointer, limit_s: Callable[[], float | None]) -> bool:
    """Wait until no save is in flight, at most until an instant that may change meanwhile.

    Args:
        checkpointer: Saves.
        limit_s: Returns the instant on CLOCK_BOOTTIME, None while there is none.
    """
    while not checkpointer.wait(0.0):
        limit = limit_s()
        if limit is not None and boottime_s() >= limit:
            return False
        time.sleep(LOOK_S)
    return True


def flush(
    checkpointer: Checkpointer, limit_s: Callable[[], float | None], gone: Gone | None
) -> bool:
    """Wait at the end of a run, and say so if it ends in saves that failed.

    Args:
        checkpointer: Saves.
        limit_s: As for ``wait_in_time``.
        gone: Where no barrier follows, by which all ranks leave together: then the host of the
            Store stays until the others know what became of the save.
    """
    is_flushed = wait_in_time(checkpointer, limit_s)
    if not is_flushed:
        log.error("out of time: the save in flight is left uncommitted")
    elif gone is not None:
        checkpointer.votes.let_hear(gone, limit_s)
    checkpointer.streak.note_end()
    return is_flushed
