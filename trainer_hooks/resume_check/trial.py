"""The trial: a command runs to its end, runs again with interruptions, and both are compared."""

import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from trainer_hooks.launch.exit_codes import EXIT_DONE, EXIT_PREEMPTED
from trainer_hooks.resume_check.comparison import Doing, Ranks, read_doings
from trainer_hooks.resume_check.plan import By, Plan
from trainer_hooks.resume_check.stage import Child, Failed, Stage
from trainer_hooks.resume_check.verdict import Verdict, judge

Tell = Callable[[str, float], None]
"""Is told what is under way, and how far, from 0 to 1."""

_STEP_LOG_VARIABLE = "REPRIEVE_STEP_LOG"
"""As ``trainer_hooks.step_log`` reads it, which needs torch."""


class Trial:
    """Plays one check on a stage of its own.

    Args:
        plan: What is asked for; checked.
        tell: Is called about 20 times a second.
    """

    def __init__(self, plan: Plan, tell: Tell) -> None:
        self._plan = plan
        self._tell = tell
        self._what = ""
        self._watched = Path()
        self._stage = Stage(self._tick)

    def play(self) -> Verdict:
        """Play it; whatever was started has ended when this returns.

        Raises:
            Failed: A start does not do what it has to.
            ConfigError: The numbers of ranks differ and there is no tolerance.
        """
        with self._stage:
            unbroken = self._unbroken("straight")
            until = 1 + max(doing.step for doings in unbroken for doing in doings)
            starts = [self._start(number, until) for number in range(self._plan.starts)]
            verdict = judge(starts, unbroken, self._plan.tolerance)
            if verdict.difference is None:
                return verdict
            return replace(verdict, causes=[*self._doubts(unbroken), *verdict.causes])

    def _unbroken(self, name: str) -> Ranks:
        child = self._launch(name, 0, ends_with=EXIT_DONE)
        self._await_end(child)
        return self._ranks(child)

    def _doubts(self, unbroken: Ranks) -> list[str]:
        """Run without interruption once more: does the command repeat itself at all?"""
        again = judge([self._unbroken("again")], unbroken, self._plan.tolerance)
        if again.difference is None:
            return []
        what = f"{again.difference.aspect}: {again.difference.difference}"
        return [f"two unbroken runs differ as well ({what}): this is no matter of resuming"]

    def _start(self, number: int, until: int) -> Ranks:
        """Make one start of the interrupted run, and see it to its end or interruption."""
        plan = self._plan
        is_last = number == plan.starts - 1
        code = -signal.SIGKILL if plan.by is By.KILL else EXIT_PREEMPTED
        child = self._launch("interrupted", number, ends_with=EXIT_DONE if is_last else code)
        if not is_last:
            self._await_step(child, plan.step_of(number, until))
            if plan.by is By.KILL:
                self._stage.kill()
            else:
                child.ask_to_stop()
        self._await_end(child)
        ranks = self._ranks(child)
        if number and (first := min(doings[0].step for doings in ranks)) == 0:
            raise Failed(
                f"start {number + 1} began at step {first}: a checkpoint was committed, and "
                "nothing was resumed from it",
                child.log,
            )
        return ranks

    def _launch(self, run: str, number: int, *, ends_with: int) -> Child:
        directory = self._plan.out / run
        self._watched = directory / f"steps-{number + 1}"
        self._what = run if run != "interrupted" else f"{run}, start {number + 1}"
        for made in (directory / "run", directory / "data", self._watched):
            made.mkdir(parents=True, exist_ok=True)
        variables: Mapping[str, str] = {
            "REPRIEVE_RUN_DIR": str((directory / "run").absolute()),
            _STEP_LOG_VARIABLE: str(self._watched.absolute()),
        }
        return self._stage.start(
            f"the run ({self._what})",
            self._plan.command_line((directory / "data").absolute(), number),
            directory / f"start-{number + 1}.log",
            variables=variables,
            ends_with=ends_with,
        )

    def _await_step(self, child: Child, step: int) -> None:
        """Wait until a step is done and something has been committed that the start can't lose."""

        def is_there() -> bool | None:
            doings = self._first_rank(child)
            last = doings[-1] if doings else None
            if last is None or last.step + 1 < step or last.committed is None:
                return None
            return last.committed > doings[0].step or None

        self._stage.wait(child, f"step {step}, and a checkpoint", is_there, self._plan.limit_s)

    def _await_end(self, child: Child) -> None:
        self._stage.wait(child, "its end", lambda: child.has_ended or None, self._plan.limit_s)

    def _ranks(self, child: Child) -> Ranks:
        """Return what each rank of a start has done.

        Raises:
            Failed: Not every rank has written its steps, or they cannot be read.
        """
        first = self._first_rank(child)
        if not first:
            raise Failed(
                f"{child.name} has written no steps: its training loop is not one over "
                "hooks.steps, or it has no steps to do",
                child.log,
            )
        try:
            size = first[0].ranks or 1
            ranks = [read_doings(self._path(rank)) for rank in range(size)]
        except ValueError as error:
            raise Failed(str(error), child.log) from error
        if not all(ranks):
            raise Failed(
                f"rank {[bool(doings) for doings in ranks].index(False)} of {size} has written no "
                f"steps to {self._watched}: all ranks have to see that directory",
                child.log,
            )
        return ranks

    def _first_rank(self, child: Child) -> list[Doing]:
        try:
            return read_doings(self._path(0))
        except ValueError as error:
            raise Failed(str(error), child.log) from error

    def _path(self, rank: int) -> Path:
        return self._watched / f"rank_{rank}.jsonl"

    def _tick(self) -> None:
        try:
            doings = read_doings(self._path(0))
        except ValueError:
            return  # said where the log is needed
        last = doings[-1] if doings else None
        done = 0.0 if last is None else (last.step + 1) / max(1, last.until or 1)
        self._tell(self._what, min(1.0, done))
