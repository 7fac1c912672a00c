"""TrainerHooks: all that a training loop needs, composed of pieces that work alone too."""

import logging
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from torch.utils.data import DataLoader

from trainer_hooks.agreement import StepAgreement
from trainer_hooks.batches import counted_batches
from trainer_hooks.clock import boottime_s, seconds_left
from trainer_hooks.decision import RESTORING, Decision, Outcome
from trainer_hooks.errors import CheckpointError, ConfigError
from trainer_hooks.guard import Guard
from trainer_hooks.launch.exit_codes import EXIT_DONE, EXIT_PREEMPTED
from trainer_hooks.launched import open_launcher
from trainer_hooks.leave import Departure, exit_at_once, exit_process
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.report import Report
from trainer_hooks.results import RankState
from trainer_hooks.saves import Saves
from trainer_hooks.state import TrainState
from trainer_hooks.stop import StopListener
from trainer_hooks.world import World

log = logging.getLogger(__name__)

B = TypeVar("B")

COMMIT_ON_ERROR_S = 20.0
"""A rank that fails waits this long for the save in flight; torchrun kills its peers at 30 s."""


class TrainerHooks:
    """Stops all ranks at one step on a notice, commits checkpoints, and resumes exactly.

    Use it as a context manager around the loop, on every rank, after ``init_process_group``::

        with TrainerHooks(state, checkpoint_dir=path, save_every=100) as hooks:
            batches = hooks.batches(loader)
            for step in hooks.steps(until=10_000):
                train_step(next(batches))

    Leaving the block commits the save in flight. If the job was preempted it then exits with code
    75; with ``exit_on_preempt=False`` read ``hooks.outcome`` instead. An exception in the block
    commits the save in flight too, starts no new one, and is raised again.

    Args:
        state: Everything that must come back.
        checkpoint_dir: The same storage on all ranks; made if need be.
        save_every: Steps between saves.
        exit_on_preempt: Whether leaving the block ends the process when preempted.

    Raises:
        ConfigError: ``save_every`` is no positive number of steps.
    """

    def __init__(
        self,
        state: TrainState,
        *,
        checkpoint_dir: str | os.PathLike[str],
        save_every: int,
        exit_on_preempt: bool = True,
    ) -> None:
        if save_every < 1:
            raise ConfigError(f"save_every counts steps, at least 1, not {save_every}")
        self.step = 0  # steps finished
        self._state = state
        self._root = Path(checkpoint_dir)
        self._save_every = save_every
        self._exit_on_preempt = exit_on_preempt
        self._saves: Saves | None = None
        self._stop: Decision | None = None
        self._has_begun = False
        self._is_finished = False
        self._report = Report()
        self._batches: list[Generator[object, None, None]] = []
        self._guard = Guard(self._leave_now if exit_on_preempt else None)

    def __enter__(self) -> Self:
        """Meet the other ranks, and restore the newest checkpoint unless a stop is agreed first.

        Raises:
            LauncherGoneError: The launcher has died before this rank began.
            CheckpointError: ``checkpoint_dir`` cannot be written, or holds no whole checkpoint.
            StateError: The checkpoint does not fit ``state``.
        """
        launcher = open_launcher()  # before meeting anybody: an orphan takes part in nothing
        self._world = World.connect()
        self._departure = Departure(self._world)
        self._listener = StopListener(self._on_news, launcher=launcher)
        self._agreement = StepAgreement(self._world, self._listener.pending, self._on_stop)
        self._listener.start()
        try:
            self._agreement.start()
            if not self._is_stopped_at(RESTORING.step):
                self._saves = Saves(self._root, self._state, self._world, self._save_every)
                self.step = self._saves.resumed_step
        except BaseException:
            self._listener.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit the save in flight, and leave together with the other ranks."""
        if error is not None:
            give_up_s = boottime_s() + COMMIT_ON_ERROR_S
            self._is_flushed(lambda: self._guard.leave_by_s() or give_up_s)
            self._close()
            return
        is_flushed = self._is_flushed(self._guard.leave_by_s)
        self._tell(self._last_word())
        self._departure.barrier(seconds_left(self._guard.deadline_s))
        self._agreement.close()
        if is_flushed and self._saves is not None:
            self._saves.close()
        self._close()
        if self.outcome.is_preempted and self._exit_on_preempt:
            exit_process(EXIT_PREEMPTED, is_save_abandoned=not is_flushed)

    def steps(self, until: int) -> Iterator[int]:
        """Yield the steps still to do, from the restored one up to ``until``. Every rank calls it.

        Ends early, at the same step on all ranks, when a stop was agreed. Before it yields it may
        save, which blocks for the stall only. RNG is restored at the first step.

        Raises:
            AgreementError: The Store is lost.
            CheckpointError: The final checkpoint could not be committed, and nobody is in a hurry.
        """
        self._is_finished = False
        while True:
            is_stopped = self._is_stopped_at(self.step)
            if self._saves is None:
                return
            if self.step >= until:
                self._finish(self._saves)
                return
            if is_stopped:
                return
            self._saves.save_if_due(self.step)
            if not self._has_begun:
                self._has_begun = True
                self._saves.restore_rng()
                self._tell(RankState.RUNNING)
            yield self.step
            self.step += 1

    def batches(self, loader: DataLoader[B]) -> Iterator[B]:
        """Iterate over a DataLoader from the restored data position on, without end.

        The loader's sampler is a ResumableSampler, and ``state.data``. Its workers are shielded
        from SIGTERM, and are shut down when the block is left.

        Raises:
            ConfigError: The loader has another sampler, or no batch size.
        """
        batches = counted_batches(loader)
        self._batches.append(batches)
        return batches

    @property
    def outcome(self) -> RunOutcome:
        """How the run stands."""
        return RunOutcome(
            is_preempted=self._stop is not None and not self._is_finished,
            is_finished=self._is_finished,
            step=self.step,
            committed_step=None if self._saves is None else self._saves.committed_step,
        )

    def _is_stopped_at(self, step: int) -> bool:
        """Pass the boundary before ``step``, taking advice on the way; True if all stop here."""
        while (decision := self._agreement.reached(step)) is not None:
            if decision.outcome is Outcome.STOP:
                self._note_stop(decision)
                return True
            if self._saves is not None:
                self._saves.save(step)  # advice: the next save is brought forward to here
        return False

    def _finish(self, saves: Saves) -> None:
        """Save and commit the state at ``until``; all ranks agree whether that came in time."""
        saves.save(self.step)
        in_time = saves.wait(self._guard.leave_by_s)
        is_committed = in_time and saves.is_kept(self.step)
        self._is_finished = self._departure.agree_is_committed(self.step, is_committed=is_committed)
        stop = self._agreement.stop
        if stop is not None:
            self._note_stop(stop)
        elif not self._is_finished:
            raise CheckpointError(
                f"all {self.step} steps are done and the final checkpoint is not committed: "
                f"{saves.failure}; start the same command again to redo the last steps"
            )

    def _is_flushed(self, limit_s: Callable[[], float | None]) -> bool:
        return self._saves is None or self._saves.wait(limit_s)

    def _note_stop(self, decision: Decision) -> None:
        if self._stop is None:
            self._stop = decision
            self._report.note("agreed", self._agreement.decided_at)
            self._report.note("stopped")
            log.warning("STOP step=%d rank=%d %s", self.step, self._world.rank, decision)

    def _last_word(self) -> RankState:
        if self._is_finished:
            return RankState.FINISHED
        return RankState.SAVED if self._stop is not None else RankState.RUNNING

    def _tell(self, state: RankState) -> None:
        """Leave word for the launcher."""
        self._report.note("began" if state is RankState.RUNNING else "saved")
        if self._saves is not None and (at := self._saves.committed_at) is not None:
            self._report.note("committed", at)
        self._report.tell(state, self._world.rank, self.outcome)

    def _on_news(self) -> None:
        """Pass on what the listener has heard. Runs in its thread."""
        self._report.note("noticed")
        if self._agreement.stop is not None:
            self._on_stop()
        self._agreement.notify()

    def _on_stop(self) -> None:
        """Hold this process to the deadlines it knows of. Runs in the threads that hear of them."""
        own = self._listener.pending()
        self._guard.arm(self._agreement.deadline_s)
        self._guard.arm(own.deadline_s if own is not None and own.is_stop else None)

    def _leave_now(self) -> None:
        """End the process from the guard's thread, with whatever is done by now."""
        self._tell(RankState.FINISHED if self._is_finished else RankState.SAVED)
        exit_at_once(EXIT_DONE if self._is_finished else EXIT_PREEMPTED)

    def _close(self) -> None:
        for batches in self._batches:
            batches.close()  # drops the DataLoader's iterator, whose workers end with it
        self._listener.close()
        self._guard.close()
