"""What a rank tells its launcher: how it stands, and when what happened."""

import os
import time
from pathlib import Path

from trainer_hooks.checkpoint.place import Place
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.results import RankResult, RankState, report_result


class Report:
    """Collects the instants of this rank's run. Any thread may note one."""

    def __init__(self) -> None:
        self._instants: dict[str, float] = {}
        self._root: str | None = None
        self._attempt: int | None = None

    def belong_to(self, root: Place, attempt: int) -> None:
        """Note which attempt this is, and of which run."""
        self._root = str(root.absolute() if isinstance(root, Path) else root)
        self._attempt = attempt

    def note(self, what: str, at: float | None = None) -> None:
        """Note when something happened, as seconds of Unix time; the first time counts."""
        self._instants.setdefault(what, time.time() if at is None else at)

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
                root=self._root,
                attempt=self._attempt,
                instants=dict(self._instants),
            )
        )
