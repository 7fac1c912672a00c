"""Trainers as the watcher finds them, without their files."""

from datetime import datetime, timedelta

from tests.support.clocks import START
from watcher.trainer_figures import NOTHING_SAID, TrainerFigures
from watcher.trainers import Trainer, TrainerState


def trainer(
    name: str = "t-1",
    state: TrainerState = TrainerState.RUNNING,
    *,
    beat_s: float = 0.0,
    committed_s: float | None = None,
    figures: TrainerFigures = NOTHING_SAID,
) -> Trainer:
    """Return one at step 7; its times are seconds after the clock's start."""
    return Trainer(
        id=name,
        pod_uid="",
        state=state,
        heartbeat_s=START.boottime_s + beat_s,
        step=7,
        committed_step=None if committed_s is None else 5,
        committed_at=None if committed_s is None else after(committed_s),
        figures=figures,
    )


def after(seconds: float) -> datetime:
    """Return the instant so long after the clock's start."""
    return START.wall + timedelta(seconds=seconds)
