"""Chooses a running job's interval, from its ledger and from what this start has measured.

One rank chooses, and all take it over as the next save begins. What is in force stays until another
interval gains something, so that estimates may wander.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from statistics import median

from trainer_hooks.waste.auto import AutoInterval
from trainer_hooks.waste.choice import Choice, Limits, choose, in_steps, is_worth_changing
from trainer_hooks.waste.estimate import (
    MtbiEstimate,
    Uptime,
    estimate_mtbi,
    mean_of_late_s,
    typical_stall_s,
)
from trainer_hooks.waste.interval import Costs, slowdown
from trainer_hooks.waste.past import NOTHING, Earlier

log = logging.getLogger(__name__)

LAG_MARGIN = 0.1
"""How much longer than the mean commit lag an interval is, so that the longer ones fit in too."""

REMEMBERED = 100
"""Stalls and lags of this start that are kept: old ones count for nothing anyway."""

PACES = 8
"""Intervals whose step times count, by their median: an evaluation now and then is no new pace."""

READ_S = 5.0
"""How long a start waits for its ledger to be read. A second is enough for a month's."""


class Chooser:
    """Measures one start of a job, and chooses. The training thread of rank 0 calls it.

    Args:
        auto: What the user has said.
        past: Returns what earlier starts have measured, or None while that is not read within so
            many seconds.
        now_s: The clock.
    """

    def __init__(
        self,
        auto: AutoInterval,
        past: Callable[[float], Earlier | None],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._auto = auto
        self._past = past
        self._now_s = now_s
        self._began_s: float | None = None
        self._last_save = (0, now_s())
        """Its step, and when training went on after it."""
        self._paces: deque[float] = deque(maxlen=PACES)
        self._stalls_s: deque[float] = deque(maxlen=REMEMBERED)
        self._lags_s: deque[float] = deque(maxlen=REMEMBERED)
        self.state_bytes: int | None = None
        """Size of a checkpoint, once one is known."""
        self._has_told = False

    def note_begun(self, step: int) -> None:
        """Note that this start begins to train, at a step."""
        self._began_s = self._now_s()
        self._last_save = (step, self._began_s)

    def note_warm(self, step: int) -> None:
        """Note that the first step is done, which takes longer than any other, and sets no pace."""
        self._last_save = (step, self._now_s())

    def note_reached(self, step: int) -> None:
        """Note that training has come to a save."""
        since_step, since_s = self._last_save
        if step > since_step:
            self._paces.append((self._now_s() - since_s) / (step - since_step))

    def note_commit(self, lag_s: float, state_bytes: int) -> None:
        """Note how long after its stall a save was committed (D), and what it wrote."""
        self._lags_s.append(lag_s)
        self.state_bytes = state_bytes

    def note_resumed(self, step: int, stall_s: float | None) -> None:
        """Note that training goes on after a save.

        Args:
            step: Where it was.
            stall_s: What the save itself has held training up (C); None if it could not begin.
        """
        self._last_save = (step, self._now_s())
        if stall_s is not None:
            self._stalls_s.append(stall_s)

    def choose(self, every_steps: int) -> int:
        """Return how many steps are to lie between saves from here on.

        Args:
            every_steps: What is in force, and stays while too little is known, or another would
                gain too little.
        """
        earlier = self._past(0.0)
        if earlier is None or not self._paces:
            return every_steps
        return self._best(every_steps, earlier, median(self._paces))

    def choose_at_start(self, every_steps: int) -> int:
        """Return the interval for a resumed run to begin with; waits until the past is read.

        Steps are taken to be as long as before, until the first save tells.
        """
        earlier = self._past(READ_S) or NOTHING
        if earlier.step_s is None:
            return every_steps
        return self._best(every_steps, earlier, earlier.step_s)

    def _best(self, every_steps: int, earlier: Earlier, step_s: float) -> int:
        history = earlier.history
        stalls_s = (*history.stalls_s, *self._stalls_s)
        if not stalls_s or step_s <= 0:
            return every_steps
        began_s = self._now_s() if self._began_s is None else self._began_s
        running = Uptime(running_s=self._now_s() - began_s, is_interrupted=False)
        mtbi = estimate_mtbi((*history.uptimes, running), self._auto.prior_mtbi_s)
        lags_s = (*history.lags_s, *self._lags_s)[-REMEMBERED:]
        restarts_s = history.restarts_s[-REMEMBERED:]
        costs = Costs(
            mtbi_s=mtbi.mtbi_s,
            stall_s=max(typical_stall_s(stalls_s), 1e-6),
            commit_lag_s=mean_of_late_s(lags_s) if lags_s else 0.0,
            restart_s=mean_of_late_s(restarts_s) if restarts_s else 0.0,
            can_restart_fail=False,  # M is of running time alone
        )
        limits = self._limits()
        choice = choose(costs, limits)
        steps = in_steps(costs, choice, step_s)
        is_changed = is_worth_changing(costs, every_steps * step_s, steps * step_s, limits)
        chosen = steps if is_changed else every_steps
        if chosen != every_steps or not self._has_told:
            self._has_told = True
            _tell((every_steps, chosen), step_s, costs, choice, mtbi)
        return chosen

    def _limits(self) -> Limits:
        is_limited = self._auto.bytes_per_s is not None and self.state_bytes is not None
        return Limits(
            state_bytes=self.state_bytes,
            bytes_per_s=self._auto.bytes_per_s if is_limited else None,
            overhead=self._auto.overhead,
            lag_margin=LAG_MARGIN,
        )


def _tell(
    steps: tuple[int, int], step_s: float, costs: Costs, choice: Choice, mtbi: MtbiEstimate
) -> None:
    """Log an interval, after the one before, with what the usual rules would have said."""
    before, chosen = steps
    interval_s = chosen * step_s
    log.info(
        "save_every=%d was=%d interval_s=%.3g bound=%s young_s=%.3g daly_s=%.3g exact_s=%.3g "
        "C=%.3g D=%.3g R=%.3g M=%.0f (%.0f to %.0f) step_s=%.3g expected_waste=%.1f%%",
        chosen,
        before,
        interval_s,
        choice.bound,
        choice.young_s,
        choice.daly_s,
        choice.exact_s,
        costs.stall_s,
        costs.commit_lag_s,
        costs.restart_s,
        costs.mtbi_s,
        mtbi.quantile_s(0.05),
        mtbi.quantile_s(0.95),
        step_s,
        100 * (1 - 1 / slowdown(costs, interval_s)),
    )
