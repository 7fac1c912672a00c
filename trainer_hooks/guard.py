"""The guard: whatever the main thread hangs in, this process ends before its deadline.

A stuck collective, a save on a dead disk, a worker that won't go: none of it may turn a
preemption into a SIGKILL that the scheduler counts as a crash.
"""

import logging
import threading
from collections.abc import Callable

from trainer_hooks.at_stop import LEAST_S, LEAVING_S
from trainer_hooks.clock import boottime_s

log = logging.getLogger(__name__)

LEAD_S = 1.0
"""How long before the deadline the guard acts; nobody who is on time meets it."""

_LONGEST_WAIT_S = 86400.0
"""A wait of centuries is an OverflowError, and a deadline may be the last day of the year 9999."""


class Guard:
    """Knows by when this process has to be gone, once a stop is decided.

    Args:
        leave: Ends the process; called from the guard's thread, at most once. None: the program
            around us wants to leave by itself.
    """

    def __init__(self, leave: Callable[[], None] | None) -> None:
        self._leave = leave
        self._changed = threading.Condition()
        self._least_s: float | None = None
        self._last_s: float | None = None
        self._closed = self._is_watching = False
        self.deadline_s: float | None = None
        """Instant on CLOCK_BOOTTIME, the earliest known; None while none is."""

    def arm(self, deadline_s: float | None) -> None:
        """Hold the process to a deadline; of several the earliest counts. Any thread may call it.

        Call it only for what is decided: a notice may be withdrawn.
        """
        with self._changed:
            if self._least_s is None:
                self._least_s = boottime_s() + LEAST_S
            if deadline_s is None:
                return
            is_first = not self._is_watching
            self._is_watching = True
            deadline_s = max(deadline_s, self._least_s)
            self.deadline_s = min(deadline_s, self.deadline_s or deadline_s)
            self._changed.notify()
        if is_first and self._leave is not None:
            threading.Thread(target=self._watch, name="reprieve-guard", daemon=True).start()

    def arm_for_good(self, deadline_s: float) -> None:
        """Hold the process to a deadline that no decision can take back. Any thread may call it."""
        with self._changed:
            self._last_s = deadline_s
        self.arm(deadline_s)

    def disarm(self) -> None:
        """Forget what was decided and is off, but nothing held for good. Any thread may call it."""
        with self._changed:
            self._least_s, self.deadline_s = None, self._last_s
            self._changed.notify()

    def leave_by_s(self) -> float | None:
        """Return when to stop waiting for a save and leave; None while no deadline is known."""
        deadline_s = self.deadline_s
        return None if deadline_s is None else deadline_s - LEAVING_S

    def is_out_of_time(self) -> bool:
        """Tell whether it is time to leave, whatever is not done."""
        leave_by_s = self.leave_by_s()
        return leave_by_s is not None and boottime_s() >= leave_by_s

    def close(self) -> None:
        """Let go: the process leaves by itself."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._closed and ((left_s := self._left_s()) is None or left_s > 0):
                self._changed.wait(None if left_s is None else min(left_s, _LONGEST_WAIT_S))
            if self._closed or self._leave is None:
                return
        # From a thread of its own: the training may hang in a log line, with its lock.
        said = "out of time: leaving, whatever the training hangs in"
        threading.Thread(target=log.error, args=(said,), daemon=True).start()
        self._leave()

    def _left_s(self) -> float | None:
        return None if self.deadline_s is None else self.deadline_s - LEAD_S - boottime_s()
