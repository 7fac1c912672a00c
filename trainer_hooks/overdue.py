"""Says where the training is when it does not come to the boundary at which all are to stop.

A long evaluation, a checkpoint read in the midst of a step, a lock: whoever reads the log after a
stop that took too long wants to know which it was.
"""

import logging
import sys
import threading
import traceback

log = logging.getLogger(__name__)

PATIENCE_S = 10.0
"""The first look; each further one comes after twice the time."""


class Overdue:
    """Watches one thread of this process from the decision of a stop until that is reached.

    Args:
        thread: Identity of the thread that trains.
    """

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._changed = threading.Condition()
        self._is_expected = self._is_alive = False

    def expect(self) -> None:
        """Look out for the boundary from now on. Any thread may call it, more than once."""
        with self._changed:
            is_first, self._is_expected = not self._is_expected, True
        if is_first:
            threading.Thread(target=self._watch, name="reprieve-overdue", daemon=True).start()

    def note_alive(self) -> None:
        """Wait as long again: the training is where it should be, and takes its time."""
        if self._is_expected:
            with self._changed:
                self._is_alive = True
                self._changed.notify()

    def note_reached(self) -> None:
        """Look out no longer."""
        with self._changed:
            self._is_expected = False
            self._changed.notify()

    def _watch(self) -> None:
        patience_s, waited_s = PATIENCE_S, 0.0
        while self._is_late(patience_s):
            waited_s += patience_s
            patience_s *= 2
            frame = sys._current_frames().get(self._thread)  # noqa: SLF001 - documented, and there is no other way
            log.warning(
                "no boundary for %.0f s since a stop was agreed; the training is here:\n%s",
                waited_s,
                "".join(traceback.format_stack(frame)) if frame is not None else "(gone)",
            )

    def _is_late(self, patience_s: float) -> bool:
        """Wait; tell whether the boundary is due still, and nobody has said why."""
        with self._changed:
            while self._is_expected:
                self._is_alive = False
                self._changed.wait_for(lambda: self._is_alive or not self._is_expected, patience_s)
                if not self._is_alive:
                    break
            return self._is_expected
