"""Saves: when this run saves, what it resumed from, and what it has committed."""

import logging
import time
from collections.abc import Callable

from trainer_hooks.cadence import open_cadence
from trainer_hooks.checkpoint.ledger_home import LedgerHome
from trainer_hooks.checkpoint.local_tier import LocalTier
from trainer_hooks.checkpoint.preflight import Preflight
from trainer_hooks.checkpoint.resume import ResumePoint, Verify, resume
from trainer_hooks.checkpoint.retention import Retention
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.checkpoint.starting import start_together
from trainer_hooks.checkpoint.tries import note_survived
from trainer_hooks.checkpoint.turns import Turns
from trainer_hooks.checkpoint.verified import Verified
from trainer_hooks.data import ResumableSampler
from trainer_hooks.flush import Gone, flush, wait_for_last, wait_in_time
from trainer_hooks.one_model import OneModel
from trainer_hooks.recorder import Recorder
from trainer_hooks.save_rules import SaveRules
from trainer_hooks.state import TrainState
from trainer_hooks.waste.past import Past
from trainer_hooks.world import World

log = logging.getLogger(__name__)

LINGER_S = 30.0
"""How long the end of a run waits for old checkpoints to be deleted; a stop does not."""


class Saves:
    """The checkpoints of one run. Every rank makes the same calls at the same boundaries.

    Raises:
        CheckpointError: ``root`` cannot be written, or holds no whole checkpoint.
        StateError: The checkpoint does not fit ``state``.
    """

    def __init__(
        self, rules: SaveRules, state: TrainState, world: World, recorder: Recorder
    ) -> None:
        self._rules = rules
        self._state = state
        self._world = world
        self._recorder = recorder
        self._one_model = OneModel(state.model, world)
        self._preflight = Preflight(world, copies=1 if rules.local is None else 2)
        self.attempt = start_together(rules.root, world)
        self._retention = (
            Retention(rules.root, rules.keep, self.attempt)
            if rules.keep is not None and world.is_coordinator
            else None
        )
        self._is_in_doubt = True
        self._is_hurried = False
        self.verified = Verified(rules.root if world.is_coordinator else None)
        self._local: LocalTier | None = None
        self._resumed, self._durable_step = self._resume(rules)
        begin, self._ledger = None, None
        if world.is_coordinator:
            self._ledger = LedgerHome(rules.root)
            recorder.on_close = self._ledger.close
            begin = recorder.open(
                self._ledger.path,
                (self.attempt.number, self.attempt.token),
                ranks=world.size,
                resumed_step=self.resumed_step,
            )
        marker = None if self._resumed is None else self._resumed.marker
        past = None
        if begin is not None and self._ledger is not None and rules.save_every_is_chosen:
            past = Past(self._ledger.path, begin)
        self._cadence = open_cadence(rules.save_every, world, marker, past)
        self._checkpointer = Checkpointer(
            rules.root, world, self.attempt, save_every_steps=self._cadence.every_steps
        )
        self._checkpointer.on_commit = self._after_commit
        self._turns = self._checkpointer.turns = Turns(rules.writers_at_once, str(rules.root))
        if self._local is not None:
            self._local.take_turns(self._turns)
        self._checkpointer.streak.newest_step = self._durable_step
        if self._resumed is not None and self._resumed.took_s is not None:
            self._checkpointer.took_s.append(self._resumed.took_s)

    def _resume(self, rules: SaveRules) -> tuple[ResumePoint | None, int | None]:
        """Load the newest checkpoint of either tier; return it, and the newest durable step."""
        if rules.local is not None:
            self._local = LocalTier(rules.local.path, self._world, self.attempt)
            point = self._local.resume(self._state, rules.root)
            if point is not None:
                return point, self._local.durable_step
        point = resume(
            rules.root, self._state, self._world, attempt=self.attempt, verify=Verify(rules.verify)
        )
        if point is not None and rules.verify == Verify.ALL:
            self.verified.note()
        return point, None if point is None else point.step

    @property
    def resumed_step(self) -> int:
        """Steps that were finished when this run began."""
        return 0 if self._resumed is None else self._resumed.step

    @property
    def committed_step(self) -> int | None:
        """Step of the newest checkpoint that this rank knows of."""
        newest = self._checkpointer.last_committed
        if newest is not None:
            return newest.step
        return self._durable_step

    @property
    def is_saving(self) -> bool:
        """True while a save is in flight."""
        last = self._checkpointer.last
        return last is not None and not last.ended.is_set()

    @property
    def took_s(self) -> tuple[float, ...]:
        """Seconds that the last saves took to their commit; the first may be another start's."""
        return tuple(self._checkpointer.took_s)

    @property
    def in_flight_s(self) -> float | None:
        """Seconds since the save in flight began; None if none is. Any thread may ask."""
        began_s = self._checkpointer.began_s
        return None if began_s is None else time.monotonic() - began_s

    @property
    def last_save_s(self) -> tuple[float | None, float | None]:
        """Seconds that the last save has held the training up, and from there to its commit."""
        last = self._checkpointer.last
        return (None, None) if last is None else (self._checkpointer.stall_s, last.durable_s)

    @property
    def failure(self) -> str | None:
        """Why the newest save was not started or not committed, if it was not."""
        return self._checkpointer.failure

    @property
    def failed_in_a_row(self) -> int:
        """How many of the newest saves were not started or not committed."""
        return self._checkpointer.streak.count

    @property
    def committed_at(self) -> float | None:
        """When this run's newest commit was, as seconds of Unix time."""
        return self._checkpointer.committed_at

    @property
    def every_steps(self) -> int:
        """Steps between saves, in force now."""
        return self._cadence.every_steps

    def is_kept(self, step: int) -> bool:
        """Tell whether nothing of the state at ``step`` would be lost: committed, or untrained."""
        return self.committed_step == step or not self._state.has_stepped

    def begin(self) -> None:
        """Set this rank's generators as they were. The last thing before the first step."""
        self._cadence.begin(self.resumed_step)
        if self._resumed is not None:
            data = self._state.data  # who takes the same samples has to drop the same ones out
            draws_as = data.rank if isinstance(data, ResumableSampler) else self._world.rank
            self._resumed.restore_rng(self._state.seed, draws_as)
        elif self._world.is_coordinator:
            log.info("FRESH START in %s, first save at step %d", self._rules.root, self.every_steps)

    def save_if_due(self, step: int) -> None:
        """Save if the interval is over; all ranks agree on that."""
        if self._cadence.is_due(step):
            self.save(step)
        elif self._local is not None and self._rules.local is not None:
            is_new = step != self.resumed_step and self._state.has_stepped
            if is_new and step % self._rules.local.save_every == 0:
                self._checkpointer.wait(None)  # never two at once: they would share the memory
                self._local.save(self._preflight.checked(self._state.capture(step)))

    def save(self, step: int) -> None:
        """Save the state at this boundary, unless that was done or there is nothing to save."""
        last = self._checkpointer.last
        is_saved = step == self._durable_step or (last is not None and last.name.step == step)
        if is_saved or not self._state.has_stepped:
            return
        began = self._recorder.now()
        self._cadence.reach(step)
        wait_for_last(self._checkpointer)  # one is in flight at most; this is no stall
        if self._local is not None:
            self._local.wait()
        waited_s = self._recorder.now() - began
        self._checkpointer.save_every_steps = self._cadence.choose(last)
        snapshot = self._preflight.checked(self._state.capture(step))
        self._checkpointer.save(self._one_model.checked(snapshot))
        stall_s = None
        if self._checkpointer.last is not last:
            stall_s = self._recorder.now() - began - waited_s
            self._recorder.note_save(step, began, waited_s)
        self._cadence.resume(step, self._checkpointer.save_every_steps, stall_s)

    def wait(self, limit_s: Callable[[], float | None]) -> bool:
        """Wait until no save is in flight, at most until an instant that may change meanwhile.

        Args:
            limit_s: Returns the instant on CLOCK_BOOTTIME, None while there is none.
        """
        return wait_in_time(self._checkpointer, limit_s)

    def flush(self, limit_s: Callable[[], float | None], gone: Gone | None) -> bool:
        """Do so at the end of a run; the arguments are those of ``trainer_hooks.flush.flush``."""
        try:
            return flush(self._checkpointer, limit_s, gone)
        finally:
            self._turns.close()

    def hurry(self, *, is_hurried: bool) -> None:
        """While a stop is in force delete nothing, and wait for no turn. Any thread may call it."""
        self._is_hurried = self._turns.is_hurried = is_hurried
        if self._retention is not None:
            self._retention.is_suspended = is_hurried

    def note_survived(self) -> None:
        """Take note that this attempt has not crashed on what it resumed from."""
        if self._is_in_doubt and self._resumed is not None and self._world.is_coordinator:
            note_survived(self._resumed.path, self.attempt)
        self._is_in_doubt = False

    def close(self, *, is_flushed: bool) -> None:
        """Leave in order, and release what saving needs.

        Args:
            is_flushed: Whether no save is in flight any more.
        """
        self.note_survived()
        if is_flushed:
            self._checkpointer.close(0.0 if self._is_hurried else LINGER_S)
        if self._local is not None:
            self._local.close()

    def _after_commit(self) -> None:
        """Do what has time until after a commit. Runs in the save's thread."""
        if (committed := self._checkpointer.last_committed) is not None:
            self._recorder.note_commit(committed.step)
        self.note_survived()
        if self._retention is not None:
            self._retention.after_commit()
        self.verified.look()
        if self._ledger is not None:
            self._ledger.put()
