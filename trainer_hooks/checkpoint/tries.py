"""Which checkpoint is tried next, and a checkpoint that keeps crashing those who resume from it.

A checkpoint can be whole to the last bit and still be the death of every run: a NaN in it, say.
Attempts that have resumed from it and died before they committed anything are counted; after
three in a row the run goes on from the one before. If that one kills them as well, it was not the
checkpoint's fault, and nothing more is given up for it.
"""

import contextlib
import logging
from collections.abc import Iterator

from trainer_hooks.checkpoint.latest import Checkpoint, committed, open_checkpoint
from trainer_hooks.checkpoint.layout import Attempt, SaveName
from trainer_hooks.checkpoint.marks import Mark, names_with, put_mark, read_mark, remove_mark
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.errors import CheckpointError, UncommittedError

log = logging.getLogger(__name__)

CRASHES = 3
"""So many in a row: one may be the node's fault, two the network's."""


def to_try(root: Place, attempt: Attempt) -> Iterator[Checkpoint]:
    """Yield the checkpoints to resume from, the best first. The coordinator calls it.

    Each is noted as this attempt's before it is yielded: it counts if the attempt dies, and is
    not deleted meanwhile. To ask for another one says that it could not be loaded.

    Raises:
        CheckpointError: It cannot be told what is there, or what is in quarantine.
    """
    yield from _to_try(root, attempt, committed(root))
    for accused, _ in list(_accused(root)):
        _acquit(root, accused, "no other checkpoint can be loaded")
        yield from _tried(root, accused, attempt)


def note_survived(path: Place, attempt: Attempt) -> None:
    """Take note that an attempt has not crashed on a checkpoint: it committed, or left in order.

    One that was preempted before it committed anything has not crashed either. Nothing is noted
    once a newer attempt has resumed from it.
    """
    name = SaveName.parse(path.name)
    if name and read_mark(path.parent, Mark.RESUMED, name).get("by") == attempt.number:
        _note(path.parent, name, attempt, tries=0)


def _to_try(root: Place, attempt: Attempt, whole: Iterator[Checkpoint]) -> Iterator[Checkpoint]:
    for found in whole:
        if _crashes(root, found.marker.name) < CRASHES:
            yield from _tried(root, found, attempt)
            continue
        before = list(whole)
        accused = _in_whose_place(root, found)
        if accused is not None:
            _acquit(root, accused, f"{CRASHES} attempts in a row have died from {found.path} too")
            yield from _tried(root, accused, attempt)
        if accused is None and before:
            _accuse(root, found, attempt)
        else:
            yield from _tried(root, found, attempt)
        yield from _to_try(root, attempt, iter(before))


def _tried(root: Place, found: Checkpoint, attempt: Attempt) -> Iterator[Checkpoint]:
    name = found.marker.name
    tries = _tries(root, name)
    _note(root, name, attempt, tries=tries + 1)
    yield found
    _note(root, name, attempt, tries=tries)


def _note(root: Place, name: SaveName, attempt: Attempt, *, tries: int) -> None:
    """Write down who has resumed; where that can't be done, the run is worth more than the note."""
    is_acquitted = tries > 0 and read_mark(root, Mark.RESUMED, name).get("is_acquitted") is True
    try:
        put_mark(
            root,
            Mark.RESUMED,
            name,
            {"by": attempt.number, "tries": tries, "is_acquitted": is_acquitted},
        )
    except CheckpointError as error:
        log.warning("%s", error)


def _tries(root: Place, name: SaveName) -> int:
    tries = read_mark(root, Mark.RESUMED, name).get("tries")
    return tries if isinstance(tries, int) else 0


def _crashes(root: Place, name: SaveName) -> int:
    is_acquitted = read_mark(root, Mark.RESUMED, name).get("is_acquitted") is True
    return 0 if is_acquitted else _tries(root, name)


def _accuse(root: Place, found: Checkpoint, attempt: Attempt) -> None:
    reason = f"{CRASHES} attempts in a row have died after resuming from it"
    name = found.marker.name
    put_mark(root, Mark.QUARANTINED, name, {"reason": reason, "accused_by": attempt.number})
    log.error(
        "put %s in quarantine: %s. The one before it is tried. To take it out again: "
        "reprieve-trainer checkpoints quarantine --undo %s %s",
        found.path,
        reason,
        root,
        name,
    )


def _in_whose_place(root: Place, found: Checkpoint) -> Checkpoint | None:
    """Return the checkpoint in whose place ``found`` is tried, if there is one.

    If ``found`` is younger than the accusation, something was committed since: then what had been
    given up was the cause.
    """
    ours = found.marker.name.attempt.number
    return next((accused for accused, by in _accused(root) if ours < by), None)


def _accused(root: Place) -> Iterator[tuple[Checkpoint, int]]:
    """Yield what is in quarantine for its crashes, the newest first, and which attempt put it."""
    for name in sorted(names_with(root, Mark.QUARANTINED), reverse=True):
        match read_mark(root, Mark.QUARANTINED, name):
            case {"accused_by": int(by)}:
                with contextlib.suppress(UncommittedError):
                    yield open_checkpoint(root / str(name)), by


def _acquit(root: Place, accused: Checkpoint, why: str) -> None:
    name = accused.marker.name
    mark = read_mark(root, Mark.RESUMED, name)
    put_mark(root, Mark.RESUMED, name, mark | {"is_acquitted": True})
    remove_mark(root, Mark.QUARANTINED, name)
    log.error("%s is out of quarantine again: %s", accused.path, why)
