"""TrainerHooks: all that a training loop needs, composed of pieces that work alone too."""

import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from torch.utils.data import DataLoader

from trainer_hooks.agreement import StepAgreement
from trainer_hooks.batches import counted_batches
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.layout import Attempt
from trainer_hooks.checkpoint.resume import ResumePoint, resume
from trainer_hooks.checkpoint.saver import Checkpointer, SaveInFlight
from trainer_hooks.clock import boottime_s, seconds_left
from trainer_hooks.decision import RESTORING, Decision, Outcome
from trainer_hooks.errors import CheckpointError, ConfigError
from trainer_hooks.launch.exit_codes import EXIT_PREEMPTED
from trainer_hooks.leave import Departure, exit_process
from trainer_hooks.results import RankResult, RankState, result_directory, write_result
from trainer_hooks.state import TrainState
from trainer_hooks.stop import StopListener
from trainer_hooks.world import World

log = logging.getLogger(__name__)

B = TypeVar("B")

LEAVE_BEFORE_DEADLINE_S = 2.0
"""What the exit itself may take: result file, barrier, interpreter."""

EXIT_BARRIER_S = 10.0
COMMIT_ON_ERROR_S = 20.0
"""A rank that fails waits this long for the save in flight; torchrun kills its peers at 30 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How the run stands, or how it ended."""

    is_preempted: bool
    """All ranks have stopped before ``until``: exit with ``EXIT_PREEMPTED``."""
    is_finished: bool
    """``until`` is reached and its checkpoint committed."""
    step: int
    """Steps finished."""
    committed_step: int | None
    """Step of the newest checkpoint; a resume goes on from there."""


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
        checkpoint_dir: The same storage on all ranks. Made if it does not exist.
        save_every: Steps between saves.
        exit_on_preempt: Whether leaving the block ends the process when preempted.
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
        self.step = 0
        """Steps finished."""
        self._state = state
        self._root = Path(checkpoint_dir)
        self._save_every = save_every
        self._exit_on_preempt = exit_on_preempt
        self._stop: Decision | None = None
        self._is_finished = False
        self._instants: dict[str, float] = {}
        self._batches: list[Iterator[object]] = []

    def __enter__(self) -> Self:
        """Meet the other ranks, and restore the newest checkpoint unless a stop is agreed first.

        Raises:
            CheckpointError: ``checkpoint_dir`` cannot be written, or holds no whole checkpoint.
            StateError: The checkpoint does not fit ``state``.
        """
        self._world = World.connect()
        self._departure = Departure(self._world)
        self._listener = StopListener(self._on_news)
        self._agreement = StepAgreement(self._world, self._listener.pending)
        self._resume_point: ResumePoint | None = None
        self._checkpointer: Checkpointer | None = None
        self._listener.start()
        try:
            self._agreement.start()
            if not self._is_stopped_at(RESTORING.step):
                self._restore()
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
        for batches in self._batches:
            batches.close()  # type: ignore[attr-defined]  # generators; their workers end here
        if error is not None:
            self._wait_for_save(boottime_s() + COMMIT_ON_ERROR_S)
            self._listener.close()
            return
        self._wait_for_save(self._leave_by())
        self._report(self._state_at_exit())
        left_s = seconds_left(self._agreement.deadline_s)
        self._departure.barrier(EXIT_BARRIER_S if left_s is None else min(EXIT_BARRIER_S, left_s))
        self._agreement.close()
        self._listener.close()
        is_abandoned = self._is_saving()
        if self._checkpointer is not None:
            self._checkpointer.close()
        if self.outcome.is_preempted and self._exit_on_preempt:
            exit_process(EXIT_PREEMPTED, is_save_abandoned=is_abandoned)

    def steps(self, until: int) -> Iterator[int]:
        """Yield the steps still to do, from the restored one up to ``until``. Every rank calls it.

        Ends early, at the same step on all ranks, when a stop was agreed. Before it yields it may
        save, which blocks for the stall only. RNG is restored at the first step.

        Raises:
            AgreementError: The Store is lost.
            CheckpointError: The final checkpoint could not be committed, and nobody is in a hurry.
        """
        is_first = True
        while not self._is_stopped_at(self.step) or self.step >= until:
            if self.step >= until:
                self._finish()
                return
            self._save_if_due()
            if is_first:
                self._begin()
                is_first = False
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
        newest = None if self._checkpointer is None else self._checkpointer.last_committed
        resumed = None if self._resume_point is None else self._resume_point.step
        return RunOutcome(
            is_preempted=self._stop is not None and not self._is_finished,
            is_finished=self._is_finished,
            step=self.step,
            committed_step=resumed if newest is None else newest.step,
        )

    # ---- one step boundary: notice, agreement, save

    def _is_stopped_at(self, step: int) -> bool:
        """Pass the boundary before ``step``, taking advice on the way; True if all stop here."""
        while (decision := self._agreement.reached(step)) is not None:
            if decision.outcome is Outcome.STOP:
                self._note_stop(decision)
                return True
            self._save()  # advice: the next save is brought forward to here
        return False

    def _save_if_due(self) -> None:
        is_new = self._resume_point is None or self.step > self._resume_point.step
        if self.step > 0 and is_new and self.step % self._save_every == 0:
            self._save()

    def _save(self) -> None:
        """Save the state at this boundary, unless that was done or there is nothing to save."""
        checkpointer = self._checkpointer
        if checkpointer is None or not self._state.has_stepped or self._is_saved():
            return
        checkpointer.save(self._state.capture(self.step))

    def _is_saved(self) -> bool:
        """Tell whether a save of this step was begun, or resumed from. The same on all ranks."""
        saved = self._last_save()
        if saved is not None and saved.name.step == self.step:
            return True
        return self._resume_point is not None and self._resume_point.step == self.step

    # ---- the beginning

    def _restore(self) -> None:
        attempt = self._start_attempt()
        self._checkpointer = Checkpointer(
            self._root, self._world, attempt, save_every_steps=self._save_every
        )
        self._resume_point = resume(self._root, self._state, self._world)
        if self._resume_point is not None:
            self.step = self._resume_point.step

    def _start_attempt(self) -> Attempt:
        attempt, failure = None, None
        if self._world.is_coordinator:
            try:
                attempt = start_attempt(self._root)
            except CheckpointError as error:
                failure = error
        attempt, failure = self._world.from_coordinator((attempt, failure))
        if attempt is None:
            raise failure or CheckpointError("rank 0 has started no attempt")
        return attempt

    def _begin(self) -> None:
        """Do what must come last before the first step."""
        if self._resume_point is not None:
            self._resume_point.restore_rng(self._state.seed, self._world.rank)
        self._instants["first_step"] = time.time()
        self._report(RankState.RUNNING)

    # ---- the end

    def _finish(self) -> None:
        """Save and commit the state at ``until``; all ranks agree whether that came in time."""
        self._save()
        is_committed = self._wait_for_save(None) and self._is_committed()
        self._is_finished = self._departure.agree_is_committed(is_committed=is_committed)
        decision = self._agreement.stop
        if decision is not None:
            self._note_stop(decision)
        elif not self._is_finished:
            saved = self._last_save()
            raise CheckpointError(
                f"all {self.step} steps are done and the final checkpoint is not committed: "
                f"{None if saved is None else saved.failure}; "
                "start the same command again to redo the last steps"
            )

    def _is_committed(self) -> bool:
        return self.outcome.committed_step == self.step

    def _wait_for_save(self, deadline_s: float | None) -> bool:
        """Wait for the save in flight, until a deadline that may only become known meanwhile."""
        while self._is_saving():
            limit_s = deadline_s or self._leave_by()
            if limit_s is not None and boottime_s() >= limit_s:
                log.error("out of time: the save in flight is left uncommitted")
                return False
            time.sleep(0.01)
        return True

    def _is_saving(self) -> bool:
        saved = self._last_save()
        return saved is not None and not saved.ended.is_set()

    def _last_save(self) -> SaveInFlight | None:
        return None if self._checkpointer is None else self._checkpointer.last

    def _leave_by(self) -> float | None:
        deadline_s = self._agreement.deadline_s
        return None if deadline_s is None else deadline_s - LEAVE_BEFORE_DEADLINE_S

    def _note_stop(self, decision: Decision) -> None:
        if self._stop is None:
            self._stop = decision
            self._instants["stopped"] = time.time()
            self._instants["agreed"] = self._agreement.decided_at or time.time()
            log.warning("STOP step=%d notice_id=%s", self.step, ",".join(decision.causes))

    def _state_at_exit(self) -> RankState:
        if self._is_finished:
            return RankState.FINISHED
        return RankState.SAVED if self._stop is not None else RankState.RUNNING

    def _report(self, state: RankState) -> None:
        directory = result_directory()
        if directory is None:
            return
        self._instants["left" if state is not RankState.RUNNING else "began"] = time.time()
        result = RankResult(
            state=state,
            pid=os.getpid(),
            rank=self._world.rank,
            step=self.step,
            committed_step=self.outcome.committed_step,
            instants=self._instants,
        )
        write_result(directory, int(os.environ.get("LOCAL_RANK", "0")), result)

    def _on_news(self) -> None:
        self._instants.setdefault("noticed", time.time())
        self._agreement.notify()
