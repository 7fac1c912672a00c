"""How a run stands, in the words that the watcher is told."""

from trainer_hooks.decision import Decision, Outcome
from trainer_hooks.saves import Saves
from trainer_hooks.status import Progress


def progress_of(step: int, saves: Saves | None, stop: Decision | None) -> Progress:
    """Return where the training is. Any thread may call it.

    Args:
        step: Steps finished.
        saves: What it saves, once it has restored.
        stop: What all ranks have agreed on, if they have.
    """
    stop_step = None
    if stop is not None and stop.outcome is Outcome.STOP:
        stop_step = step if stop.last is None else max(step, stop.last.last_step + 1)
    if saves is None:
        return Progress(step=step, stop_step=stop_step)
    stall_s, commit_lag_s = saves.last_save_s
    return Progress(
        step=step,
        stop_step=stop_step,
        committed_step=saves.committed_step,
        committed_at=saves.committed_at,
        stall_s=stall_s,
        commit_lag_s=commit_lag_s,
    )
