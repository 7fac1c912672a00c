"""The tally: what a run has paid for and what it has got so far, over all its attempts.

For whoever watches the run while it is under way. Of this attempt every finished step counts as
productive; that an interruption has undone it is seen only by the next one, which looks back.
"""

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from trainer_hooks.errors import TrainerHooksError
from trainer_hooks.waste.account import Kind, account, timeline
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.lineage import read_attempts
from trainer_hooks.waste.records import Begin

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """GPU-seconds of a run so far."""

    paid: float
    productive: float


class Tally:
    """Adds up one run, on the rank that keeps its ledger.

    Args:
        root: The checkpoint directory; earlier attempts are read there by a thread of its own, as
            the record of months takes seconds.
        begin: Of this attempt.
    """

    def __init__(self, root: Path, begin: Begin) -> None:
        self._begin = begin
        self._steps_s = 0.0
        self._before: Spending | None = None
        reader = threading.Thread(target=self._look_back, args=(root,), name="tally", daemon=True)
        reader.start()

    def note_step(self, seconds: float) -> None:
        """Count a step that was finished. The training thread calls it after each."""
        self._steps_s += seconds

    def at(self, now: float) -> Spending | None:
        """Return what was spent up to an instant; None while the past is not known."""
        before, gpus = self._before, self._begin.gpus
        if before is None:
            return None
        return Spending(
            paid=before.paid + max(0.0, now - self._begin.at) * gpus,
            productive=before.productive + self._steps_s * gpus,
        )

    def _look_back(self, root: Path) -> None:
        try:
            earlier = [
                attempt
                for attempt in read_attempts(root)
                if attempt.begin.attempt < self._begin.attempt
            ]
        except TrainerHooksError as error:
            log.warning("what this run has wasted before is not known: %s", error)
            return
        resumed_step = self._begin.resumed_step
        for attempt in earlier:
            kept = attempt.kept_steps
            attempt.kept_steps = resumed_step if kept is None else min(kept, resumed_step)
        spent = account(timeline((*earlier, Attempt(begin=self._begin))))
        self._before = Spending(paid=spent.paid, productive=spent.kinds[Kind.PRODUCTIVE])
