"""Guards: those that a run has, as its loop sees them."""

import logging
from dataclasses import dataclass

from torch import nn

from trainer_hooks.health.desk import Desk
from trainer_hooks.health.finding import Finding
from trainer_hooks.health.own_time import OwnTime, Seen
from trainer_hooks.health.slow_ranks import SlowRanks
from trainer_hooks.recorder import Recorder
from trainer_hooks.world import World

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is watched."""

    straggler: bool = True
    """Whether ranks are looked for that hold the others up."""


class Guards:
    """What watches one run on one rank. The training thread calls it at each step.

    Args:
        health: What is watched; None stands for nothing, and costs nothing.
    """

    def __init__(self, health: Health | None) -> None:
        self._health = health
        self._slow_ranks: SlowRanks | None = None
        self._desk: Desk | None = None

    def start(self, model: nn.Module, world: World, recorder: Recorder) -> None:
        """Begin to watch; the first step is about to begin.

        Args:
            model: The model that is trained.
            world: The ranks.
            recorder: Where rank 0 notes what is found.
        """
        if self._health is None:
            return

        def note(finding: Finding) -> None:
            if world.is_coordinator or world.rank in finding.ranks:
                log.warning("GUARD %s step=%d: %s", finding.guard, finding.step, finding.text)
            recorder.note_finding(finding.guard, finding.step, finding.text)

        self._desk = Desk(world, note)
        if self._health.straggler and world.size > 1:
            own = OwnTime(model)
            if own.seen is not Seen.NOTHING:
                log.info("slow ranks are found by their %s", own.seen)
                self._slow_ranks = SlowRanks(own, self._desk, recorder.note_slowness)
            elif world.is_coordinator:
                log.warning(
                    "slow ranks can't be found: the first collective of a step is not seen in a "
                    "model that neither DDP nor FSDP has wrapped"
                )
        self._desk.start()

    def begin(self) -> None:
        """Note that the gate of a step is passed."""
        if self._slow_ranks is not None:
            self._slow_ranks.begin()

    def end(self, step: int) -> None:
        """Note that a step is over, after which ``step`` are finished."""
        if self._slow_ranks is not None:
            self._slow_ranks.end(step)

    def close(self) -> None:
        """Watch no longer."""
        if self._slow_ranks is not None:
            self._slow_ranks.close()
        if self._desk is not None:
            self._desk.close()
