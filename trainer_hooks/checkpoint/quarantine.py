"""Quarantine: checkpoints that no run resumes from, whole or not, because somebody said so."""

from datetime import UTC, datetime

from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import Checkpoint, judged
from trainer_hooks.checkpoint.layout import MARKER, SaveName, saves
from trainer_hooks.checkpoint.marks import Mark, names_with, put_mark
from trainer_hooks.checkpoint.place import Place, is_there
from trainer_hooks.checkpoint.retention import sweep
from trainer_hooks.errors import CheckpointError


def quarantine(root: Place, name: SaveName, reason: str) -> None:
    """Keep runs from resuming from a save; its data stays, as evidence.

    Raises:
        CheckpointError: It cannot be written down.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    put_mark(root, Mark.QUARANTINED, name, {"reason": reason, "at": at})


def roll_back(root: Place, before_step: int, reason: str) -> list[SaveName]:
    """Put everything from ``before_step`` on in quarantine, so that the job resumes before it.

    A run that is still on its way is fenced off: it trains on what shall be forgotten, and can
    commit nothing of it any more.

    Returns:
        What has gone into quarantine, newest first.

    Raises:
        CheckpointError: No checkpoint before that step is whole; nothing was changed.
    """
    whole = (found for found in judged(root) if isinstance(found, Checkpoint))
    if all(found.step >= before_step for found in whole):
        raise CheckpointError(
            f"no checkpoint before step {before_step} is whole in {root}: nothing was changed"
        )
    start_attempt(root)
    sweep(root)  # what was past its last check is committed now, or never
    already = names_with(root, Mark.QUARANTINED)
    bad = [
        name
        for name in saves(root)
        if name.step >= before_step and name not in already and is_there(root / str(name) / MARKER)
    ]
    for name in bad:
        quarantine(root, name, reason)
    return bad
