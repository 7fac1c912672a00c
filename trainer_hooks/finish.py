"""The end of a run that was not stopped: its last step is saved, and all agree that it was."""

from trainer_hooks.errors import CheckpointError
from trainer_hooks.run import Run
from trainer_hooks.saves import Saves


def finish(run: Run, saves: Saves) -> None:
    """Save and commit the state at ``until``; all ranks agree whether that came in time.

    Raises:
        CheckpointError: It could not be committed, and nobody is in a hurry.
    """
    saves.save(run.step)
    in_time = saves.wait(run.guard.leave_by_s)
    is_committed = in_time and saves.is_kept(run.step)
    run.is_finished = run.departure.agree(f"final_commit/{run.step}", mine=is_committed)
    stop = run.agreement.stop
    if stop is not None:
        run.note_stop(stop)
    elif not run.is_finished:
        raise CheckpointError(
            f"all {run.step} steps are done and the final checkpoint is not committed: "
            f"{saves.failure}; start the same command again to redo the last steps"
        )
