"""TrainerHooks: all that a training loop needs, composed of pieces that work alone too."""

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Literal, Self, SupportsIndex, TypeVar

import torch
from torch.utils.data import DataLoader

from trainer_hooks.agreements import AgreementName, agreement_of
from trainer_hooks.checkpoint.keep import Keep
from trainer_hooks.errors import SETUP_ERRORS
from trainer_hooks.finish import finish
from trainer_hooks.handing import Handing
from trainer_hooks.health.figures import Figure
from trainer_hooks.health.guards import Guards, Health, Watched
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.run import Run
from trainer_hooks.save_rules import LocalSaves, SaveRules
from trainer_hooks.state import TrainState
from trainer_hooks.step_log import StepLog, open_step_log
from trainer_hooks.waste.auto import AutoInterval

B = TypeVar("B")


class TrainerHooks:
    """Stops all ranks at one step on a notice, commits checkpoints, and resumes exactly.

    Use it as a context manager around the loop, on every rank, after ``init_process_group``::

        with TrainerHooks(state, checkpoint_dir=path, save_every=100) as hooks:
            batches = hooks.batches(loader)
            for step in hooks.steps(until=10_000):
                train_step(next(batches))

    Leaving the block commits the save in flight. If the job was preempted it then exits with code
    75; with ``exit_on_preempt=False`` read ``hooks.outcome`` instead. An exception in the block
    commits the save in flight too, starts no new one, and is raised again. What is wrong with the
    set-up, and would be on every other node, ends the process with code 78 instead.

    Args:
        state: Everything that must come back.
        checkpoint_dir: A path on storage that all ranks share, made if need be; or the URL of a
            place in a bucket: ``s3://``, ``gs://``, ``az://`` (docs/checkpoints.md).
        save_every: Steps between saves; or ``"auto"``, what wastes least by what the run measures;
            or ``"5%"``, the share of the time for stalls; or an AutoInterval (docs/waste.md).
        keep: How many of the newest checkpoints are kept, or a ``Keep`` with a ladder of hours and
            days; None keeps all. What the run has resumed from is kept as well.
        verify: ``all`` compares the digest of every byte before it resumes; ``sizes`` takes the
            shards' on trust, where the storage keeps digests of its own.
        local: A second tier, on the nodes' own disks, to be saved to more often.
        writers_at_once: So many ranks of a node write at a time, the others wait for their turn;
            None: all of them (docs/checkpoints.md).
        exit_on_preempt: Whether leaving the block ends the process when preempted, and a set-up
            that is wrong does, too. False: read the outcome, and catch ConfigError and StateError.
        always_stop: Whether a notice also stops a run that would reach its end, final save
            included, well before the deadline; otherwise such a run goes on to its end.
        health: What finds slow ranks and corrupted parameters (docs/guards.md); None: nothing.
        agreement: How ranks agree: by the ``store``; or by a ``collective`` (docs/agreement.md).

    Raises:
        ConfigError: One of these makes no sense.
    """

    def __init__(  # noqa: PLR0913 - all that a user says, once and by name
        self,
        state: TrainState,
        *,
        checkpoint_dir: str | os.PathLike[str],
        save_every: int | str | AutoInterval,
        keep: int | Keep | None = None,
        verify: Literal["sizes", "all"] = "all",
        local: LocalSaves | None = None,
        writers_at_once: int | None = None,
        exit_on_preempt: bool = True,
        always_stop: bool = False,
        health: Health | None = None,
        agreement: AgreementName = "store",
    ) -> None:
        self._state = state
        self._run = Run(exits=exit_on_preempt)
        try:
            self._rules = SaveRules.told(
                checkpoint_dir, save_every, keep, verify, local, writers_at_once=writers_at_once
            )
            self._run.agrees_by = agreement_of(agreement)
        except SETUP_ERRORS as error:
            self._run.ending.refuse(error)
            raise
        self._always_stop = always_stop
        self._guards = Guards(health, self._run.roll_back)
        self._has_begun = self._is_last = False
        self._step_log: StepLog | None = None
        self._handing = Handing(state, self._run.recorder.phases.note_wait)

    def __enter__(self) -> Self:
        """Meet the other ranks, and restore the newest checkpoint unless a stop is agreed first.

        Raises:
            LauncherGoneError: The launcher has died before this rank began.
            ConfigError: The environment, or the process group, is not as it has to be.
            CheckpointError: ``checkpoint_dir`` cannot be written, or holds no whole checkpoint.
            StateError: The checkpoint does not fit ``state``.
        """
        try:
            self._run.enter(self._rules, self._state)
        except SETUP_ERRORS as error:
            self._run.ending.refuse(error)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit the save in flight, and leave together with the other ranks."""
        with self._run.ending.aloud():
            is_flushed = self._run.leave() if error is None else self._run.give_up(error)
        self._close()
        if error is None:
            self._run.ending.end(is_save_abandoned=not is_flushed)
        else:
            self._run.ending.refuse(error, is_save_abandoned=not is_flushed)

    def steps(self, until: int) -> Iterator[int]:
        """Yield the steps still to do, from the restored one up to ``until``. Every rank calls it.

        Ends early, at the same step on all ranks, when a stop was agreed; if there is time for it,
        that step is saved. Before it yields it may save, which blocks for the stall only. RNG is
        restored at the first step.

        Raises:
            AgreementError: The Store is lost.
            CheckpointError: The final checkpoint could not be committed, and nobody is in a hurry.
        """
        run = self._run
        run.is_finished = self._is_last = False
        run.until = None if self._always_stop else until
        while True:
            is_stopped = run.is_stopped_before_step()
            if run.saves is None:
                return
            if run.step >= until and not run.is_rolled_back:  # else nothing of it is to count
                finish(run, run.saves)
                return
            if is_stopped:
                run.save_at_stop()
                return
            run.saves.save_if_due(run.step)
            if not self._has_begun:
                self._has_begun = True
                run.saves.begin()
                self._step_log = open_step_log(self._state, run.world)
                self._guards.start(
                    Watched(self._state.model, run.world, self._rules.root, run.step, run.recorder)
                )
                run.note_begun()
            run.pace.begin()
            run.recorder.note_step_begun()
            self._guards.begin()
            self._handing.begin_step()
            if self._step_log is not None:
                self._step_log.begin()
            yield run.step
            run.pace.end()
            if run.has_stopped:  # at a boundary within the step, which is not finished
                return
            if self._is_last:
                until = run.step + 1
            self._handing.end_step()
            run.recorder.note_step(run.step)
            self._guards.end(run.step + 1, is_last=run.step + 1 >= until)
            if self._step_log is not None:
                self._step_log.write(run.step, until=until, committed=run.saves.committed_step)
            run.step += 1

    def boundary(self) -> bool:
        """Tell whether all ranks stop here, inside a step: an evaluation, an accumulation.

        Every rank calls it equally often between the same steps, outside of any collective. True:
        leave the step at once, by ``break`` or ``return``; the loop over ``steps`` ends then, and
        the step does not count. Nothing new is saved here: half a step is no state.

        Raises:
            AgreementError: The Store is lost.
        """
        return self._run.is_stopped_within_step()

    def end(self) -> None:
        """Make the step under way the last, as if ``until`` were its end: early stopping, say.

        Every rank calls it in the same step. A start after that goes on from there again.

        Raises:
            ConfigError: No step is under way.
        """
        self._is_last = self._handing.must_be_in_step("hooks.end ends the run with a step")

    def alive(self) -> None:
        """Say that the training is under way, where only some ranks are: it stops nobody.

        It puts off the warning that no boundary is reached after a stop was agreed.
        """
        self._run.overdue.note_alive()

    def batches(self, loader: DataLoader[B]) -> Iterator[B]:
        """Iterate over a DataLoader from the restored data position on, without end.

        ``state.data`` is the loader's sampler, a ResumableSampler; or the loader, where it keeps
        its position itself. Its workers are shielded from SIGTERM, and end with the block.

        Raises:
            ConfigError: Nobody would know which of its batches were handed out.
        """
        return self._handing.batches(loader)

    def consumed(self, samples: SupportsIndex) -> None:
        """Count samples that a loop without ``batches`` has taken in the step under way.

        Args:
            samples: Of this rank. Every rank takes as many. Calls within a step add up, and
                ``state.data``, a ResumableSampler, moves past them at the end of the step.

        Raises:
            ConfigError: It makes no sense here (docs/data.md).
        """
        self._handing.consumed(samples)

    def note_loss(self, loss: float | torch.Tensor) -> None:
        """Tell the loss of the step under way, which ``verify-resume`` compares.

        It costs nothing anywhere else. Without it the state that comes of the loss is compared.
        """
        if self._step_log is not None:
            self._step_log.note_loss(loss)

    def watch(self, *, loss: Figure | None = None, grad_norm: Figure | None = None) -> None:
        """Have figures of the step under way held against those before, where guards watch.

        One that leaps, or is no number, is a warning (docs/guards.md). Any rank may call it.
        """
        self._guards.watch(self._run.step, loss, grad_norm)

    @property
    def step(self) -> int:
        """Steps finished."""
        return self._run.step

    @property
    def outcome(self) -> RunOutcome:
        """How the run stands."""
        return self._run.outcome

    def _close(self) -> None:
        self._handing.close()
        self._guards.close()
        self._run.close()
