"""What earlier starts of a run have measured, read while the training begins."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer_hooks.errors import TrainerHooksError
from trainer_hooks.waste.account import timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.history import History, history
from trainer_hooks.waste.lineage import read_attempts
from trainer_hooks.waste.records import Begin

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What was measured, as it would have been for a job of the present size."""

    history: History
    step_s: float | None = None
    """Seconds that a step took in the last start; None if that is not known."""


NOTHING = Earlier(history=History(uptimes=(), stalls_s=(), lags_s=(), restarts_s=()))


class Past:
    """Reads the ledger in a thread of its own: months of records take seconds.

    Args:
        root: The checkpoint directory.
        begin: Of this attempt; only earlier ones count.
    """

    def __init__(self, root: Path, begin: Begin) -> None:
        self._root = root
        self._begin = begin
        self._earlier = NOTHING
        self._is_read = threading.Event()
        threading.Thread(target=self._read, name="ledger-past", daemon=True).start()

    def get(self, patience_s: float = 0.0) -> Earlier | None:
        """Return what was measured; None if reading it takes longer than this."""
        return self._earlier if self._is_read.wait(patience_s) else None

    def _read(self) -> None:
        try:
            self._earlier = earlier(read_attempts(self._root), self._begin)
        except TrainerHooksError as error:
            log.warning("what earlier starts have measured is not known: %s", error)
        finally:
            self._is_read.set()


def earlier(attempts: Sequence[Attempt], begin: Begin) -> Earlier:
    """Measure what attempts before this one have left, scaled to its size."""
    before = [attempt for attempt in attempts if attempt.begin.attempt < begin.attempt]
    # With this one, as a start that has not run yet: so the last before it counts as ended.
    known = [*before, Attempt(begin=begin)]
    return Earlier(
        history=history(known, timeline(known), sized=begin.gpus), step_s=usual_step_s(before)
    )


def usual_step_s(attempts: Sequence[Attempt]) -> float | None:
    """Return what a step of the last start took, its first one left out; None if none is known."""
    for attempt in reversed(attempts):
        warm = attempt.steps[1:]
        if warm:
            steps = sum(some.end - some.first for some in warm)
            return sum(some.ended - some.began for some in warm) / steps
    return None
