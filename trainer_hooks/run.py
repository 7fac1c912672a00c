"""One start of the job on this rank: whom it has met, what is agreed, saved and told.

The loop in ``hooks.py`` says where the training is. What other threads have to say, a notice, an
agreed stop, a deadline, comes in here.
"""

import logging
import threading
from collections.abc import Callable

from trainer_hooks.agreements import Agreement, agreement_of
from trainer_hooks.at_stop import AtStop
from trainer_hooks.clock import boottime_s, seconds_left
from trainer_hooks.decision import RESTORING, Decision, Outcome, Position
from trainer_hooks.ending import Ending
from trainer_hooks.errors import SETUP_ERRORS
from trainer_hooks.guard import Guard
from trainer_hooks.hearing import Hearing
from trainer_hooks.leave import COMMIT_ON_ERROR_S, Departure
from trainer_hooks.lifeline.lifeline import Lifeline
from trainer_hooks.outcome import RunOutcome
from trainer_hooks.overdue import Overdue
from trainer_hooks.pace import Pace
from trainer_hooks.recorder import Recorder
from trainer_hooks.report import Report
from trainer_hooks.results import RankState
from trainer_hooks.roll_back import RollBack
from trainer_hooks.save_rules import SaveRules
from trainer_hooks.saves import Saves
from trainer_hooks.state import TrainState
from trainer_hooks.status import Status, TrainerState
from trainer_hooks.telling import Witnesses, end_of, figures_of, last_word, outcome_of, progress_of
from trainer_hooks.waste.records import Outcome as Ended
from trainer_hooks.world import World

log = logging.getLogger(__name__)


class Run:
    """What one ``with TrainerHooks(...)`` block stands on, and how it is left.

    Args:
        exits: Whether the process may be ended, when it was preempted or its set-up is wrong.
    """

    def __init__(self, *, exits: bool) -> None:
        self.step = 0
        """Steps finished."""
        self.until: int | None = None
        """Where the run ends, if a stop may leave it to its end."""
        self.pace = Pace()
        self.is_finished = False
        self.saves: Saves | None = None
        """None until this start has restored, and for good if a stop came before that."""
        self._stop: Decision | None = None
        self._passed = RESTORING
        self.roll_back = RollBack()
        self.agrees_by = agreement_of("store")
        self.agreement: Agreement
        self._holding = threading.Lock()
        self._report = Report()
        self.recorder = Recorder()
        """Keeps this start's ledger."""
        self.ending = Ending(self, exits=exits)
        self.guard = Guard(self.ending.leave_now if exits else None)
        by = Witnesses(self.pace, self._report, self.recorder)
        self._status = Status(lambda: progress_of(self.step, self.saves, self.agreement.stop, by))

    def enter(self, rules: SaveRules, state: TrainState) -> None:
        """Meet the other ranks, and restore the newest checkpoint unless a stop is agreed first.

        Raises:
            TrainerHooksError: As the user's block does where it is entered.
        """
        self._meet()
        try:
            self.agreement.start()
            if not self._is_stopped_at(RESTORING):
                self.recorder.note_met()
                self.saves = Saves(rules, state, self.world, self.recorder)
                self.step = self.saves.resumed_step
                number = self.saves.attempt.number
                self._report.belong_to(rules.root, number)
                if self.world.is_coordinator:
                    self._hearing.follow_requests(rules.root, number, lambda: self.step)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give back what listening and guarding have taken."""
        self._hearing.close()
        self._lifeline.close(is_orderly=False)
        self.overdue.note_reached()
        self.guard.close()
        self._status.close()

    @property
    def outcome(self) -> RunOutcome:
        """How the run stands."""
        return outcome_of(self.step, self.saves, self._stop, is_finished=self.is_finished)

    @property
    def has_stopped(self) -> bool:
        """True once this rank has come to where all stop."""
        return self._stop is not None

    @property
    def is_rolled_back(self) -> bool:
        """True once this rank has come to where all stop for a roll-back; the same on all ranks."""
        return self._stop is not None and self._stop.is_roll_back

    def is_stopped_before_step(self) -> bool:
        """Pass the boundary before the next step, saving there if that is advised.

        Returns:
            Whether all ranks stop here.
        """
        boundary = max(Position(self.step), self._passed)  # none may come before one passed
        return self.has_stopped or self._is_stopped_at(boundary, saves=self.saves)

    def is_stopped_within_step(self) -> bool:
        """Pass one more boundary of the step; tell whether all ranks stop here."""
        self.overdue.note_alive()
        return self._is_stopped_at(Position(self._passed.step, self._passed.tick + 1))

    def note_begun(self) -> None:
        """Tell the launcher that the first step begins."""
        self.tell(RankState.RUNNING)

    def note_stop(self, decision: Decision) -> None:
        """Take note that this rank has come to where all stop."""
        self.overdue.note_reached()
        if self._stop is None:
            self._stop = decision
            self._report.note("agreed", self.agreement.decided_at)
            self._report.note("stopped")
            log.warning("STOP step=%d rank=%d %s", self.step, self.world.rank, decision)

    def save_at_stop(self) -> None:
        """Save the step reached if that was agreed; wait, as the program may end its group next."""
        if self.saves is not None and self.outcome.at_stop is AtStop.EMERGENCY:
            is_free = self.saves.wait(self.guard.leave_by_s)
            if self.departure.agree(f"emergency/{self.step}", mine=is_free):
                self.saves.save(self.step)
        if self.saves is not None:
            self.saves.wait(self._flushed_by_s)

    def give_up(self, error: BaseException) -> bool:
        """Leave alone, after an error; tell whether no save had to be left uncommitted."""
        self.ending.note_failure(error)
        is_wanted = isinstance(error, (KeyboardInterrupt, *SETUP_ERRORS))
        if self.saves is not None and is_wanted:
            self.saves.note_survived()  # it is no fault of the checkpoint's
        give_up_s = boottime_s() + COMMIT_ON_ERROR_S
        is_flushed = self.is_flushed(lambda: self.guard.leave_by_s() or give_up_s, is_alone=True)
        self.roll_back.carry_out()
        self.recorder.close(Ended.STOPPED if is_wanted else Ended.FAILED, self.step)
        return is_flushed

    def leave(self) -> bool:
        """Commit the save in flight, and leave with the others; tell whether it was waited for."""
        is_flushed = self.is_flushed(self._flushed_by_s)
        if self.is_finished:
            self.roll_back.come_too_late()
        is_rolled_back = not self.is_finished and self.roll_back.carry_out()
        self._lifeline.close(is_orderly=True)  # all is done that needs the others
        self._status.reach(TrainerState.SAVED)
        self.tell(last_word(self.outcome))
        self.departure.barrier(seconds_left(self.guard.deadline_s))
        self.agreement.close()
        if self.saves is not None:
            self.saves.close(is_flushed=is_flushed)
        ended = end_of(self._stop, is_finished=self.is_finished, is_rolled_back=is_rolled_back)
        self.recorder.close(ended, self.step)
        return is_flushed

    def is_flushed(self, limit_s: Callable[[], float | None], *, is_alone: bool = False) -> bool:
        """Wait as ``Saves.flush`` does; tell whether no save is in flight any more."""
        gone = (lambda: self._lifeline.gone) if is_alone else None
        return self.saves is None or self.saves.flush(limit_s, gone)

    def tell(self, state: RankState) -> None:
        """Leave word for the launcher."""
        if self.saves is not None and (at := self.saves.committed_at) is not None:
            self._report.note("committed", at)
        self._report.note_cause(self.agreement.stop, self._hearing.pending())
        self._report.tell(state, self.world.rank, self.outcome)

    def _flushed_by_s(self) -> float | None:
        return 0.0 if self.outcome.at_stop is AtStop.NONE else self.guard.leave_by_s()

    def _meet(self) -> None:
        self._hearing = Hearing(self._on_news, self.guard.arm_for_good, self.pace.note_alive)
        self.world = World.connect()
        self.departure = Departure(self.world)
        self._lifeline = Lifeline(self.world, self._on_peer_lost)
        self.agreement = self.agrees_by(
            self.world,
            lambda: self.roll_back.pending(self._hearing.pending()),
            self._on_stop,
            lambda: figures_of(self.pace, self.until, self.saves),
        )
        self.roll_back.on_asked = self.agreement.notify
        self.roll_back.is_agreed = lambda: self.agreement.stop is not None
        self.overdue = Overdue(threading.get_ident())
        self._hearing.start()
        self._status.start()
        self._lifeline.start()

    def _is_stopped_at(self, boundary: Position, saves: Saves | None = None) -> bool:
        while (decision := self.agreement.reached(*boundary)) is not None:
            if decision.outcome is Outcome.STOP:
                self.note_stop(decision)
                return True
            if saves is not None:
                saves.save(self.step)  # advice: the next save is brought forward to here
        self._passed = boundary
        return False

    def _on_news(self) -> None:
        """Pass on what the listener has heard. Runs in its thread."""
        self._report.note("noticed")
        if self.agreement.stop is not None:
            self._on_stop()
        self.agreement.notify()
        if (heard := self._hearing.pending()) is not None:
            self.recorder.note_notice(heard)

    def _on_stop(self) -> None:
        """Hold this process to the deadlines it knows of. Runs in the threads that hear of them."""
        with self._holding:  # or one that has looked before a withdrawal would arm after it
            stop = self.agreement.stop
            self._status.nudge()
            if self.saves is not None:
                self.saves.hurry(is_hurried=stop is not None)
            if stop is None:
                self.guard.disarm()
                return
            if stop.outcome is Outcome.STOP and not self.has_stopped:
                self.overdue.expect()
            own = self._hearing.pending()
            self.guard.arm(self.agreement.deadline_s)
            self.guard.arm(own.deadline_s if own is not None and own.is_stop else None)
            self.recorder.note_causes(stop.causes)

    def _on_peer_lost(self, how: str) -> None:
        """Leave alone: nobody comes to the next collective. Runs in the lifeline's thread."""
        self.ending.leave_bereft(how, lambda: self._lifeline.is_closed)
