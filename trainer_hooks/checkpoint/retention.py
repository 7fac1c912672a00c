"""Retention: what ``Keep`` does not want is deleted, once it stands behind newer commits.

Only what is committed and whole is counted. A directory that we did not make is never counted and
never deleted; nor is a checkpoint that is damaged or in quarantine: it is evidence.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from trainer_hooks.checkpoint.aside import sweep_aside
from trainer_hooks.checkpoint.commit import check_fence, newest_attempt
from trainer_hooks.checkpoint.keep import Keep, wanted
from trainer_hooks.checkpoint.latest import Checkpoint, examined
from trainer_hooks.checkpoint.layout import MARKER, Attempt, SaveName
from trainer_hooks.checkpoint.marks import Mark, names_with, read_mark
from trainer_hooks.checkpoint.pins import pinned
from trainer_hooks.checkpoint.place import Place, is_there
from trainer_hooks.checkpoint.removal import (
    delete_checkpoint,
    delete_uncommitted,
    finish_deletion,
    has_tombstone,
)
from trainer_hooks.errors import CheckpointError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What retention finds in a checkpoint directory."""

    kept: Mapping[SaveName, str]
    """Whole checkpoints that stay, and why."""
    surplus: tuple[Checkpoint, ...]
    """Whole checkpoints that no rule wants, oldest first."""
    leftovers: tuple[SaveName, ...]
    """Saves of attempts that are over, and deletions that were cut short."""


def survey(root: Place, keep: Keep) -> Survey:
    """Find out what would be deleted under ``root``. Any process may call it.

    Raises:
        CheckpointError: Something that must be known cannot be read.
    """
    quarantined = names_with(root, Mark.QUARANTINED)
    whole = [
        found
        for name, found in examined(root)
        if isinstance(found, Checkpoint) and name not in quarantined
    ]
    kept = wanted(whole, keep) | _protected(root, [found.marker.name for found in whole])
    surplus = [found for found in whole if found.marker.name not in kept]
    return Survey(kept=kept, surplus=tuple(reversed(surplus)), leftovers=_leftovers(root))


def retain(
    root: Place,
    keep: Keep,
    may_go_on: Callable[[], bool],
    on_failure: Callable[[CheckpointError], object] = lambda error: log.warning("%s", error),
) -> list[SaveName]:
    """Delete under ``root`` what ``survey`` finds, and return its names. One process calls it.

    A deletion that fails is done with the next.

    Args:
        root: The checkpoint directory.
        keep: What is kept.
        may_go_on: Asked before each deletion; nothing more is deleted once it says no.
        on_failure: Told of each deletion that fails; it is logged by default.

    Raises:
        CheckpointError: Something that must be known cannot be read; or ``may_go_on`` raised it.
    """
    sweep_aside(root)
    found = survey(root, keep)
    surplus = tuple(checkpoint.marker.name for checkpoint in found.surplus)
    return _delete_all(root, found.leftovers, surplus, may_go_on, on_failure)


def sweep(root: Place) -> list[SaveName]:
    """Delete what attempts that are over have left behind, and return its names.

    Raises:
        CheckpointError: It cannot be told what is left.
    """
    sweep_aside(root)
    return _delete_all(root, _leftovers(root), (), lambda: True)


class Retention:
    """Retention in the background of a run, on the rank that commits.

    Args:
        root: The checkpoint directory.
        keep: What is kept.
        attempt: This start of the job; it deletes nothing once a newer one has started.
    """

    def __init__(self, root: Place, keep: Keep, attempt: Attempt) -> None:
        self._root = root
        self._keep = keep
        self._attempt = attempt
        self._at_work = threading.Lock()
        self._is_due = False
        self.is_suspended = False
        """Set it when time is short: what is not deleted now is deleted by the next attempt."""

    def after_commit(self) -> None:
        """Delete what no rule wants any more; at once back if that is being done already.

        Who is doing it does it once more then: this commit may be the run's last. Nothing of it is
        worth an exception: a full directory says so itself, at the next save.
        """
        self._is_due = True
        # Looked at after each release, so that who finds it taken has not come in vain.
        while self._is_due and self._at_work.acquire(blocking=False):
            try:
                self._is_due = False
                self._delete()
            finally:
                self._at_work.release()

    def _delete(self) -> None:
        try:
            deleted = retain(self._root, self._keep, self._may_go_on)
        except CheckpointError as error:
            log.warning("nothing more is deleted: %s", error)
        else:
            if deleted:
                log.info("deleted %s", ", ".join(map(str, deleted)))

    def _may_go_on(self) -> bool:
        if self.is_suspended:
            return False
        check_fence(self._root, self._attempt)
        return True


def _protected(root: Place, names: Iterable[SaveName]) -> dict[SaveName, str]:
    """Return what stays whatever the rules say, because somebody needs it, and who."""
    newest = newest_attempt(root)
    pins = pinned(root, datetime.now(UTC))
    resumed = names_with(root, Mark.RESUMED)
    protected = {}
    for name in names:
        if name in pins:
            protected[name] = f"pinned: {pins[name]}"
        elif name in resumed and read_mark(root, Mark.RESUMED, name).get("by", newest) == newest:
            protected[name] = f"attempt {newest} has resumed from it"
    return protected


def _leftovers(root: Place) -> tuple[SaveName, ...]:
    """Return what we have begun and nobody can finish any more, by our own word.

    An attempt that is not the newest can commit nothing more. A save without that word may be a
    copy that somebody is just making: it is left alone (orbax#394).
    """
    newest = newest_attempt(root)
    return tuple(
        name
        for name in sorted(names_with(root, Mark.UNFINISHED))
        if has_tombstone(root / str(name))
        or (name.attempt.number < newest and not is_there(root / str(name) / MARKER))
    )


def _delete_all(
    root: Place,
    leftovers: Sequence[SaveName],
    surplus: Sequence[SaveName],
    may_go_on: Callable[[], bool],
    on_failure: Callable[[CheckpointError], object] = lambda error: log.warning("%s", error),
) -> list[SaveName]:
    deleted = []
    for name in (*leftovers, *surplus):
        if not may_go_on():
            break
        try:
            if _delete_leftover(root, name) if name in leftovers else _delete_surplus(root, name):
                deleted.append(name)
        except CheckpointError as error:
            on_failure(error)
    return deleted


def _delete_leftover(root: Place, name: SaveName) -> bool:
    if has_tombstone(root / str(name)):
        return finish_deletion(root, name)
    return delete_uncommitted(root, name)


def _delete_surplus(root: Place, name: SaveName) -> bool:
    # It may be, since it was found to be surplus.
    return delete_checkpoint(root, name, is_wanted=lambda: bool(_protected(root, [name])))
