"""A machine on which a world of one trains, in the test's own process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.flags import put_flag
from tests.support.training import Run
from tests.support.waiting import wait_until
from trainer_hooks import (
    AutoInterval,
    Keep,
    RunOutcome,
    StepAgreement,
    TrainerHooks,
    latest_committed,
)
from trainer_hooks.at_stop import AtStop
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.results import RankState, read_result

LEFT = object()
"""What a hook returns inside a step that is left half-way."""
InStep = Callable[[int], object]


class Node:
    """A machine to train on: a run directory, a checkpoint directory, a launcher's directory."""

    def __init__(self, root: Path) -> None:
        self.run_dir, self.checkpoints, self.results = root / "run", root / "save", root / "results"
        self.results.mkdir()
        self.run_dir.mkdir()
        self.hooks: TrainerHooks | None = None
        self.done: list[int] = []
        """The steps that the loop has seen, over all starts."""

    def train(  # noqa: PLR0913 - as TrainerHooks has them
        self,
        run: Run,
        until: int = 9,
        *,
        in_step: InStep = lambda _: None,
        exit_on_preempt: bool = False,
        always_stop: bool = True,
        keep: int | Keep | None = None,
        save_every: int | AutoInterval = 3,
    ) -> RunOutcome:
        """Train as a program does; it reads the outcome itself unless the block is to exit.

        A run of milliseconds would always end before any deadline, so it is to stop all the same.
        """
        with TrainerHooks(
            run.state,
            checkpoint_dir=self.checkpoints,
            save_every=save_every,
            exit_on_preempt=exit_on_preempt,
            always_stop=always_stop,
            keep=keep,
        ) as hooks:
            self.hooks = hooks
            for step in hooks.steps(until=until):
                if in_step(step) is LEFT:
                    continue
                run.step()
                self.done.append(step)
        return hooks.outcome

    def wait_idle(self) -> None:
        """Wait until no save is in flight."""
        hooks = self.hooks
        assert hooks is not None
        wait_until(lambda: (saves := hooks._run.saves) is not None and not saves.is_saving)

    def wait_decided(self, rounds: int = 1) -> None:
        """Wait until a round has been decided: the next boundary is to act on it."""
        hooks = self.hooks
        assert hooks is not None
        agreement = hooks._run.agreement
        assert isinstance(agreement, StepAgreement)
        wait_until(lambda: agreement._round >= rounds)

    def measure(self, *saves_s: float) -> None:
        """Let the saves so far have taken these times."""
        self.wait_idle()
        assert self.hooks is not None
        assert self.hooks._run.saves is not None
        took_s = self.hooks._run.saves._checkpointer.took_s
        took_s.clear()
        took_s.extend(saves_s)

    @property
    def committed(self) -> list[int]:
        """The steps of all saves, oldest first; the newest is a checkpoint."""
        newest = latest_committed(self.checkpoints)
        steps = [name.step for name in reversed(saves(self.checkpoints))]
        assert (newest.step if newest else None) == (steps[-1] if steps else None)
        return steps

    @property
    def told(self) -> RankState | None:
        """What the launcher was told last."""
        result = read_result(self.results, 0)
        return None if result is None else result.state

    def notice(self, *, rounds: int = 1, **of_flag: Any) -> None:  # noqa: ANN401 - put_flag's own
        """Put a flag into force, and wait until all has been decided about it."""
        put_flag(self.run_dir, **of_flag)
        self.wait_decided(rounds)

    def settled_notice(self) -> None:
        """Give notice of two minutes once no save is in flight, and each has taken a second."""
        self.measure(1.0)
        self.notice()


def stopped(at_stop: AtStop, *, step: int, committed_step: int | None) -> RunOutcome:
    """Return how a run stands that has stopped."""
    return RunOutcome(
        is_preempted=True,
        is_finished=False,
        step=step,
        committed_step=committed_step,
        at_stop=at_stop,
    )


def at(step: int, act: Callable[[], object]) -> InStep:
    """Do something inside one step."""
    return lambda now: act() if now == step else None
