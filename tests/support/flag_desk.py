"""The flag file action with a state and a run directory of its own, and notices for it."""

import json
from pathlib import Path
from typing import Any

from tests.support.clocks import TurnedClock
from watcher.actions.flag_file import FLAG_NAME, FlagFile
from watcher.actions.flag_v1 import Writer
from watcher.metrics import Metrics
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.policy import stand
from watcher.state import State

WRITER = Writer("node-a", "boot-a")


class Desk:
    """A flag file action with its state, in a run directory of the test's own."""

    def __init__(self, run_dir: Path, clock: TurnedClock, metrics: Metrics) -> None:
        self.path = run_dir / FLAG_NAME
        self.state = State()
        self.clock = clock
        self.metrics = metrics
        self.action = FlagFile(run_dir, WRITER, self.state, metrics, clock)

    async def admit(self, notice: Notice) -> str:
        """Put a notice in force and run the action."""
        self.state.admit(stand(notice), self.clock())
        return await self.action.run(stand(notice))

    async def retire(self, notice: Notice) -> str:
        """Take it out of force and undo the action."""
        self.state.retire(notice, self.clock())
        return await self.action.undo(stand(notice))

    def flag(self) -> dict[str, Any]:
        """Read the flag as a trainer would."""
        content: dict[str, Any] = json.loads(self.path.read_text())
        return content


def preemption(seen: Moment, name: str = "spot", left_s: float = 120) -> Notice:
    """Build a stop notice."""
    return Notice(
        id=name,
        kind=NoticeKind.PREEMPTION,
        source="aws_imds",
        received=seen,
        deadline=Deadline.after(seen, left_s),
    )


def advice(seen: Moment) -> Notice:
    """Build an advisory notice."""
    return Notice(id="advice", kind=NoticeKind.REBALANCE, source="aws_imds", received=seen)
