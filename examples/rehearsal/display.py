"""The progress display: bars that move on a terminal, a line now and then anywhere else."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
)

LINE_EVERY_S = 5.0
"""Between two lines of progress where there is no terminal."""


class Display:
    """Shows the phase, and how far each run has come.

    Args:
        console: Where to show it.
        steps: How many steps a run has.
    """

    def __init__(self, console: Console, steps: int) -> None:
        self._console = console
        self._steps = steps
        self._started = self._line_at = time.monotonic()
        self._runs: dict[TaskID, tuple[str, Callable[[], int]]] = {}
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:11}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("steps"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def follow(self, name: str, steps_done: Callable[[], int]) -> None:
        """Show a run from now on."""
        self._runs[self._bars.add_task(name, total=self._steps)] = (name, steps_done)

    def phase(self, what: str) -> None:
        """Say what happens now, and when, in seconds since the beginning."""
        self._line_at = time.monotonic()
        since_s = self._line_at - self._started
        self._console.print(f"{since_s:6.1f} s  {what}", markup=False, highlight=False)

    def tick(self) -> None:
        """Bring the runs' progress up to date."""
        done = {task: steps_done() for task, (_, steps_done) in self._runs.items()}
        for task, steps in done.items():
            self._bars.update(task, completed=steps)
        if self._bars.disable and time.monotonic() - self._line_at > LINE_EVERY_S:
            runs = (f"{self._runs[task][0]} {steps}" for task, steps in done.items())
            self.phase(f"  steps done of {self._steps}: {', '.join(runs)}")
