"""A roll-back that the run itself asks for: all ranks stop, and the next start resumes before it.

It goes the way of a notice: rank 0 has news, and all ranks agree where they stop. Nothing is saved
there, as nothing that was reached is to be kept. What was committed since the onset goes into
quarantine at once, so that a rank which dies on the way to the stop changes nothing; before the
ranks leave, rank 0 does the same with what was committed since then.

The same steps may go wrong again, so a run is rolled back to one checkpoint once: it would go round
for ever otherwise.
"""

import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainer_hooks.checkpoint.latest import Checkpoint, committed
from trainer_hooks.checkpoint.layout import SaveName
from trainer_hooks.checkpoint.marks import Mark, names_with, put_mark
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.quarantine import quarantine, roll_back
from trainer_hooks.errors import CheckpointError
from trainer_hooks.flag import ROLL_BACK, StopNotice

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    root: Place
    onset_step: int
    reason: str
    good: Checkpoint
    """What the next start resumes from."""
    set_aside: int
    """Checkpoints that are in quarantine already."""


class RollBack:
    """The roll-back of one start of a run, if one is asked for. Rank 0 alone is asked."""

    def __init__(self) -> None:
        self.on_asked: Callable[[], None] = lambda: None
        """Has the ranks look at ``pending`` again."""
        self.is_agreed: Callable[[], bool] = lambda: False
        """Tells whether all ranks have agreed to stop."""
        self._asked: _Asked | None = None

    def ask(self, root: Place, onset_step: int, reason: str) -> None:
        """Have the run stop and forget the states of ``onset_step`` and later, if that can help.

        Any thread may call it; it reads the storage, and says in the log why not.
        """
        if self._asked is not None:
            return
        try:
            good, bad = _parted(root, onset_step)
            if good is None:
                why = f"no checkpoint before step {onset_step} is whole"
            elif good.marker.name in names_with(root, Mark.ROLLED_BACK_TO):
                why = f"it was rolled back to step {good.step} before, and it did not help"
            else:
                for name in bad:
                    quarantine(root, name, reason)
                self._asked = _Asked(
                    root=root, onset_step=onset_step, reason=reason, good=good, set_aside=len(bad)
                )
                log.warning("ROLLBACK to step %d: all ranks stop: %s", good.step, reason)
                self.on_asked()
                return
        except CheckpointError as error:
            why = str(error)
        log.error("the run is not rolled back, and goes on: %s", why)

    @property
    def is_awaited(self) -> bool:
        """Whether it was asked for, and the ranks have not agreed to stop yet."""
        return self._asked is not None and not self.is_agreed()

    def pending(self, heard: StopNotice | None) -> StopNotice | None:
        """Return the notice in force: the roll-back, with the deadline of one that was heard."""
        asked = self._asked
        if asked is None:
            return heard
        own = StopNotice(
            id=f"{ROLL_BACK}{asked.onset_step}",
            is_stop=True,
            deadline_s=None,
            source="guard",
            is_roll_back=True,
        )
        if heard is None or not heard.is_stop:
            return own
        return replace(own, deadline_s=heard.deadline_s, window_s=heard.window_s)

    def carry_out(self) -> bool:
        """Do what was asked for, if anything was; tell whether the next start resumes before it.

        Call it where no save is begun any more.
        """
        asked = self._asked
        if asked is None:
            return False
        name = asked.good.marker.name
        at = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            bad = roll_back(asked.root, asked.onset_step, asked.reason)
            put_mark(asked.root, Mark.ROLLED_BACK_TO, name, {"reason": asked.reason, "at": at})
        except CheckpointError as error:
            log.error("the run is not rolled back: %s", error)  # noqa: TRY400 - a person reads it
            return False
        log.warning(
            "ROLLBACK: %d checkpoints are in quarantine, the next start resumes from step %d",
            asked.set_aside + len(bad),
            asked.good.step,
        )
        return True

    def come_too_late(self) -> None:
        """Say that the run has ended before it could be rolled back, if it was to be."""
        asked = self._asked
        if asked is not None:
            log.error(
                "the run has reached its end and is not rolled back: its last checkpoint holds "
                "what was found (%s); start it again from step %d with "
                "reprieve-trainer checkpoints rollback %s --before-step %d",
                asked.reason,
                asked.good.step,
                asked.root,
                asked.onset_step,
            )


def _parted(root: Place, onset_step: int) -> tuple[Checkpoint | None, list[SaveName]]:
    """Return the newest checkpoint before the onset, if any, and those since."""
    bad: list[SaveName] = []
    for one in committed(root):
        if one.step < onset_step:
            return one, bad
        bad.append(one.marker.name)
    return None, bad
