"""What a rank tells its launcher: how it stands, and when what happened."""

import os
import time
from pathlib import Path

from trainer_hooks.checkpoint.place import Place
from trainer_hooks.decision import Decision
from trainer_hooks.flag import USER, StopNotice
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.results import Cause, RankResult, RankState, report_result


class Report:
    """Collects the instants of this rank's run. Any thread may note one."""

    def __init__(self) -> None:
        self._instants: dict[str, float] = {}
        self._root: str | None = None
        self._attempt: int | None = None
        self._cause: Cause | None = None

    def belong_to(self, root: Place, attempt: int) -> None:
        """Note which attempt this is, and of which run."""
        self._root = str(root.absolute() if isinstance(root, Path) else root)
        self._attempt = attempt

    def note(self, what: str, at: float | None = None) -> None:
        """Note when something happened, as seconds of Unix time; the first time counts."""
        self._instants.setdefault(what, time.time() if at is None else at)

    def note_cause(self, stop: Decision | None, own: StopNotice | None) -> None:
        """Note why all ranks stop, once they have agreed on it.

        Args:
            stop: What they have agreed on.
            own: What is in force on this node. It need not be what they have agreed for: a node
                that goes away, too, is not to be started on again.
        """
        if stop is None:
            return
        is_own = own is not None and own.is_stop
        self._cause = Cause.THIS_NODE if is_own else Cause.OTHER_NODE
        if USER in stop.causes or stop.is_roll_back:
            self._cause = Cause.JOB

    def instant(self, what: str) -> float | None:
        """Return when it happened; None while it has not. Any thread may ask."""
        return self._instants.get(what)

    def tell(self, state: RankState, rank: int, outcome: RunOutcome) -> None:
        """Leave word for the launcher, if there is one."""
        if state is not RankState.LOST:
            self.note("began" if state is RankState.RUNNING else "saved")
        report_result(
            RankResult(
                state=state,
                pid=os.getpid(),
                rank=rank,
                step=outcome.step,
                committed_step=outcome.committed_step,
                at_stop=outcome.at_stop,
                cause=self._cause,
                root=self._root,
                attempt=self._attempt,
                instants=dict(self._instants),
            )
        )
