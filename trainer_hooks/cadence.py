"""When a run saves: at the same steps on all ranks, without a message of its own for it.

Every rank keeps a Cadence and tells it of every save. Where the run chooses its interval itself,
rank 0 chooses as a save begins, by what was measured up to the save before. Its word rides on what
ranks tell each other at the begin of a save anyway, and counts from that save on. So whatever has
made them save, their own interval or advice, they go on from the same step by the same number.
"""

from typing import Protocol

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.in_flight import SaveInFlight
from trainer_hooks.waste.auto import AutoInterval
from trainer_hooks.waste.chooser import Chooser
from trainer_hooks.waste.past import Past
from trainer_hooks.world import World


class Cadence(Protocol):
    """The rhythm of one run's saves. The training thread calls it, on every rank."""

    every_steps: int
    """Steps between saves, in force now."""

    def begin(self, step: int) -> None:
        """Note that training begins, at a step."""

    def is_due(self, step: int) -> bool:
        """Tell whether all ranks save at the boundary before ``step``."""

    def reach(self, step: int) -> None:
        """Note that training has come to a save."""

    def choose(self, last: SaveInFlight | None) -> int:
        """Return the interval that this rank would have; rank 0's becomes everybody's.

        Args:
            last: The save before, which is in flight no more.
        """

    def resume(self, step: int, every_steps: int, stall_s: float | None) -> None:
        """Note that training goes on after a save.

        Args:
            step: Where it was.
            every_steps: What all ranks have agreed on.
            stall_s: How long it has held training up; None if it could not begin.
        """


class EverySteps:
    """Saves at the multiples of a number, and measures nothing."""

    def __init__(self, every_steps: int) -> None:
        self.every_steps = every_steps

    def begin(self, step: int) -> None:
        """Do nothing."""

    def is_due(self, step: int) -> bool:
        """Tell whether ``step`` is a multiple."""
        return step > 0 and step % self.every_steps == 0

    def reach(self, step: int) -> None:
        """Do nothing."""

    def choose(self, last: SaveInFlight | None) -> int:  # noqa: ARG002 - as of every Cadence
        """Return the number."""
        return self.every_steps

    def resume(self, step: int, every_steps: int, stall_s: float | None) -> None:
        """Do nothing."""


class OwnCadence:
    """Saves so many steps after the last save, whatever made that one; the number may change.

    Args:
        every_steps: What is in force as this start begins.
        step: Where it begins.
        chooser: On rank 0, None on the others.
    """

    def __init__(self, every_steps: int, step: int, chooser: Chooser | None) -> None:
        self.every_steps = every_steps
        self._due = step + every_steps
        self._chooser = chooser
        self._warm_at = step + 1
        self._measured: SaveInFlight | None = None

    def begin(self, step: int) -> None:
        """Note that training begins, at a step."""
        if self._chooser is not None:
            self._chooser.note_begun(step)

    def is_due(self, step: int) -> bool:
        """Tell whether the interval is over."""
        if step == self._warm_at and self._chooser is not None:
            self._chooser.note_warm(step)
        return step >= self._due

    def reach(self, step: int) -> None:
        """Note that training has come to a save."""
        if self._chooser is not None:
            self._chooser.note_reached(step)

    def choose(self, last: SaveInFlight | None) -> int:
        """Return the interval to be in force from this save on."""
        if self._chooser is None:
            return self.every_steps
        if last is not None and last is not self._measured and last.is_committed:
            self._measured = last
            if last.durable_s is not None and last.marker is not None:
                self._chooser.note_commit(last.durable_s, last.marker.state_bytes)
        return self._chooser.choose(self.every_steps)

    def resume(self, step: int, every_steps: int, stall_s: float | None) -> None:
        """Count from this save on, by the interval that all have agreed on."""
        self.every_steps = every_steps
        self._due = step + every_steps
        if self._chooser is not None:
            self._chooser.note_resumed(step, stall_s)


def open_cadence(
    save_every: int | AutoInterval, world: World, marker: CommitMarker | None, past: Past | None
) -> Cadence:
    """Return the rhythm of a start: the one in force, unless another has become better by now.

    All ranks call it, none while a save is in flight. Rank 0 chooses at once, and not at the next
    save: where interruptions have become more frequent than saves, that one would never come.

    Args:
        save_every: What the user has said.
        world: The ranks.
        marker: Of the checkpoint that all have resumed from; None for a fresh start.
        past: What earlier starts have measured, on rank 0; None on the others.
    """
    if isinstance(save_every, int):
        return EverySteps(save_every)
    chooser = None if past is None else Chooser(save_every, past.get)
    if marker is None:
        return OwnCadence(save_every.first_steps, 0, chooser)
    every_steps = max(1, marker.save_every_steps)
    if chooser is not None:
        chooser.state_bytes = marker.state_bytes
        every_steps = chooser.choose_at_start(every_steps)
    every_steps = world.from_coordinator(every_steps)
    return OwnCadence(every_steps, marker.name.step, chooser)
