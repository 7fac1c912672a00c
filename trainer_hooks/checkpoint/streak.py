"""Saves that fail one after the other: each is said, and since when nothing has been committed.

One line for each would scroll past, and the run looks well while a restart would cost more with
every hour.
"""

import logging

log = logging.getLogger(__name__)


class Streak:
    """Failures since the last commit. One thread at a time notes what became of a save.

    Args:
        what: What a save of this kind is called in the log.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.newest_step: int | None = None
        """Step of the newest checkpoint; None where there is none."""
        self.failure: str | None = None
        """Why the newest save was not committed; None after a good one."""
        self.count = 0
        """How many saves in a row were not."""
        self._first_step = 0
        self._last_step = 0

    def note_commit(self, step: int, durable_s: float, rank: int) -> None:
        """Say that a save is good, which ends the streak.

        Args:
            step: Its step.
            durable_s: Seconds from the end of the stall to the commit.
            rank: Who says so.
        """
        log.info("committed step=%d durable_s=%.3f rank=%d", step, durable_s, rank)
        if self.count > 1:
            log.warning("%ss work again, after %d that failed", self._what, self.count)
        self.newest_step, self.failure, self.count = step, None, 0

    def note_failure(self, how: str, step: int, why: str) -> None:
        """Say that a save was not committed; from the second in a row on, since when none was.

        Args:
            how: What became of it.
            step: Its step.
            why: The reason.
        """
        log.error("%s %s step=%d: %s", self._what, how, step, why)
        self.count += 1
        if self.count == 1:
            self._first_step = step
        self.failure, self._last_step = why, step
        if self.count > 1:
            log.critical("%s", self._since())

    def note_end(self) -> None:
        """Say it once more where the run ends in a streak: what is last in the log is read."""
        if self.count:
            log.critical("%s", self._since())

    def _since(self) -> str:
        newest = self.newest_step
        since = "the start of the job" if newest is None else f"step={newest}"
        if self.count == 1:
            failed = f"the last one, of step {self._last_step}, has failed"
        else:
            failed = (
                f"{self.count} in a row have failed, steps {self._first_step} to {self._last_step}"
            )
        return f"NO {self._what.upper()} COMMITTED since {since}: {failed}: {self.failure}"
