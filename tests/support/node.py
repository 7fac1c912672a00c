"""A machine on which a world of one trains, in the test's own process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.flags import put_flag
from tests.support.training import Run
from tests.support.waiting import wait_until
from trainer_hooks import RunOutcome, TrainerHooks, latest_committed
from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.results import RankState, read_result

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

    def train(
        self,
        run: Run,
        until: int = 9,
        *,
        in_step: InStep = lambda _: None,
        exit_on_preempt: bool = False,
    ) -> RunOutcome:
        """Train as a program does; it reads the outcome itself unless the block is to exit."""
        with TrainerHooks(
            run.state,
            checkpoint_dir=self.checkpoints,
            save_every=3,
            exit_on_preempt=exit_on_preempt,
        ) as hooks:
            self.hooks = hooks
            for step in hooks.steps(until=until):
                in_step(step)
                run.step()
                self.done.append(step)
        return hooks.outcome

    def wait_idle(self) -> None:
        """Wait until no save is in flight."""
        hooks = self.hooks
        assert hooks is not None
        wait_until(lambda: (saves := hooks._run.saves) is not None and not saves.is_saving)

    def wait_decided(self) -> None:
        """Wait until a round has been decided: the next boundary is to act on it."""
        hooks = self.hooks
        assert hooks is not None
        wait_until(lambda: hooks._run.agreement._round > 0)

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

    def notice(self, **of_flag: Any) -> None:  # noqa: ANN401 - put_flag's own
        """Put a flag into force, and wait until all has been decided about it."""
        put_flag(self.run_dir, **of_flag)
        self.wait_decided()


def at(step: int, act: Callable[[], object]) -> InStep:
    """Do something inside one step."""
    return lambda now: act() if now == step else None
