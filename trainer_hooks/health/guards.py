"""Guards: those that a run has, as its loop sees them."""

import logging
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from torch import nn

from trainer_hooks.checkpoint.place import Place
from trainer_hooks.errors import ConfigError
from trainer_hooks.health.desk import Desk
from trainer_hooks.health.figures import Figure, Figures
from trainer_hooks.health.finding import Finding, Guard
from trainer_hooks.health.node_request import ask_for_another_node
from trainer_hooks.health.own_time import OwnTime, Seen
from trainer_hooks.health.rank_phases import RankPhases
from trainer_hooks.health.replica_check import ReplicaCheck
from trainer_hooks.health.replicas import replicated
from trainer_hooks.health.settle import RollsBack, settle
from trainer_hooks.health.slow_ranks import SlowRanks
from trainer_hooks.recorder import Recorder
from trainer_hooks.world import World

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is watched."""

    straggler: bool = True
    """Whether ranks are looked for that hold the others up."""
    compare_every: int | None = None
    """Steps between two comparisons of what DDP keeps alike on all ranks; None: never."""
    roll_back: bool = False
    """Whether a comparison that fails ends the run with 75, at a step that all ranks agree on; what
    was saved since the last good one goes into quarantine, and the next start resumes from before.
    To one checkpoint a run is rolled back once."""
    roll_back_loss: bool = False
    """Whether a loss that leaps and stays away does the same."""
    roll_back_grad_norm: bool = False
    """Whether a gradient norm that does."""
    request_node: bool = False
    """Whether another node is asked for in place of one with a rank that is slow, or whose
    parameters are not the others'. The watcher there has to be told to heed it."""
    request_node_loss: bool = False
    """Whether another node is asked for as well in place of one with the only rank whose loss leaps
    and stays away: of use where each rank watches the loss of its own part of the batch."""
    request_node_grad_norm: bool = False
    """Whether it is for a gradient norm; likewise, before gradients are averaged."""

    def __post_init__(self) -> None:
        if self.compare_every is not None and self.compare_every < 1:
            raise ConfigError(f"compare_every is {self.compare_every}; it is a number of steps")
        if self.roll_back and self.compare_every is None:
            raise ConfigError("roll_back needs compare_every: only a comparison can fail")


class AsksRollBack(RollsBack, Protocol):
    """Who is asked to have the run forget what it has done from a step on. Only rank 0 asks."""

    def ask(self, root: Place, onset_step: int, reason: str) -> None:
        """Ask for it: where the run's checkpoints are, from which step on, and why."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What is watched: one start of a run, on one rank."""

    model: nn.Module
    world: World
    root: Place
    """Where the checkpoints are."""
    resumed_step: int
    recorder: Recorder
    """Where rank 0 notes what is found."""


class Guards:
    """What watches one run on one rank. The training thread calls it at each step.

    Args:
        health: What is watched; None stands for nothing, and costs nothing.
        roll_back: Asked to have the run forget what it has done from a step on.
    """

    def __init__(self, health: Health | None, roll_back: AsksRollBack) -> None:
        self._health = health
        self._roll_back = roll_back
        self._slow_ranks: SlowRanks | None = None
        self._replicas: ReplicaCheck | None = None
        self._figures: Figures | None = None
        self._desk: Desk | None = None

    def start(self, run: Watched) -> None:
        """Begin to watch; the first step is about to begin. All ranks call it."""
        health = self._health
        if health is None:
            return
        phases = RankPhases(lambda: run.recorder.phases.times, run.recorder.note_phases)
        self._desk = Desk(run.world, partial(self._on_finding, run), phases.look)
        if health.straggler and run.world.size > 1:
            self._slow_ranks = _slow_ranks(run, self._desk)
        if health.compare_every is not None and run.world.size > 1:
            self._replicas = _replicas(run, health.compare_every, self._desk)
        self._figures = Figures(self._desk)
        self._desk.start()

    def begin(self) -> None:
        """Note that the gate of a step is passed."""
        if self._slow_ranks is not None:
            self._slow_ranks.own.begin()

    def end(self, step: int, *, is_last: bool = False) -> None:
        """Note that a step is over, after which ``step`` are finished.

        Args:
            step: Steps finished.
            is_last: Whether the run ends with them: then it is awaited what is found in them.
        """
        if self._slow_ranks is not None:
            self._slow_ranks.end(step)
        if self._replicas is not None:
            self._replicas.end(step, is_last=is_last)
        if is_last and self._desk is not None:
            settle(self._desk, step, self._roll_back)

    def watch(self, step: int, loss: Figure | None, grad_norm: Figure | None) -> None:
        """Take in figures of the step under way, after ``step`` that are finished."""
        if self._figures is not None:
            told = {Guard.LOSS: loss, Guard.GRAD_NORM: grad_norm}
            self._figures.see(step, {guard: one for guard, one in told.items() if one is not None})

    def close(self) -> None:
        """Watch no longer."""
        if self._slow_ranks is not None:
            self._slow_ranks.close()
        if self._desk is not None:
            self._desk.close()

    def _on_finding(self, run: Watched, finding: Finding) -> None:
        """Do what is to be done about a finding. Runs in the desk's thread, on every rank."""
        if run.world.is_coordinator or run.world.rank in finding.ranks:
            log.warning("GUARD %s step=%d: %s", finding.guard, finding.step, finding.text)
        run.recorder.note_finding(finding.guard, finding.step, finding.text)
        if self._health is None:
            return
        is_mine = run.world.rank in finding.ranks and finding.is_certain
        if is_mine and finding.guard in _nodes_fault(self._health):
            ask_for_another_node(finding)
        if run.world.is_coordinator and finding.good_step is not None:
            self._look_back(run, finding, finding.good_step)

    def _look_back(self, run: Watched, finding: Finding, good_step: int) -> None:
        """Roll back to where all was well, if that is wanted. Only rank 0 does."""
        wanted = self._health or Health()
        is_wanted = {
            Guard.DIGEST: wanted.roll_back,
            Guard.LOSS: wanted.roll_back_loss,
            Guard.GRAD_NORM: wanted.roll_back_grad_norm,
        }
        if is_wanted.get(finding.guard, False):
            # What was resumed from was alike on all ranks, whatever is compared since.
            onset_step = max(run.resumed_step, good_step) + 1
            self._roll_back.ask(run.root, onset_step, finding.text)


def _nodes_fault(health: Health) -> set[Guard]:
    """Return whose findings have another node asked for."""
    wanted = {
        Guard.STRAGGLER: health.request_node,
        Guard.DIGEST: health.request_node,
        Guard.LOSS: health.request_node_loss,
        Guard.GRAD_NORM: health.request_node_grad_norm,
    }
    return {guard for guard, is_wanted in wanted.items() if is_wanted}


def _slow_ranks(run: Watched, desk: Desk) -> SlowRanks | None:
    own = OwnTime(run.model)
    if own.seen is not Seen.NOTHING:
        wait = "seen" if own.is_wait_seen else Seen.NOTHING
        log.info(
            "slow ranks are found by their %s; the wait inside collectives is %s", own.seen, wait
        )
        return SlowRanks(own, desk, run.recorder.note_slowness)
    if run.world.is_coordinator:
        log.warning(
            "slow ranks can't be found: the first collective of a step is not seen in a model that "
            "neither DDP nor FSDP has wrapped"
        )
    return None


def _replicas(run: Watched, every_steps: int, desk: Desk) -> ReplicaCheck | None:
    parameters = replicated(run.model, run.world.size)
    if parameters:
        return ReplicaCheck(parameters, every_steps, desk)
    if run.world.is_coordinator:
        log.warning("there is nothing to compare: DDP keeps no parameter alike on all ranks")
    return None
