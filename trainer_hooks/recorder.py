"""Keeps a run's ledger: one rank notes for all what happens, the others note nothing.

Called where things happen, it never blocks and never raises: what a run wastes is good to know, and
no reason to waste more.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from trainer_hooks.clock import boottime_s, process_began_ticks
from trainer_hooks.flag import ROLL_BACK, StopNotice
from trainer_hooks.phases import Phases, PhaseTimes, spreads
from trainer_hooks.waste.heard import Heard, Urgency
from trainer_hooks.waste.ledger import Ledger
from trainer_hooks.waste.records import Begin, Outcome, Part
from trainer_hooks.waste.tally import Spending, Tally
from trainer_hooks.waste.told_parts import VARIABLE as PARTS_VARIABLE
from trainer_hooks.waste.told_parts import told_parts

NODES_VARIABLE = "GROUP_WORLD_SIZE"
"""How many agents torchrun has started, one a node (torch 2.13, environment of its workers)."""

PHASES_EVERY_S = 60.0
"""How often phases are written down; each record holds all before it."""


class Recorder:
    """What one start of the job notes. Built when the process meets the others.

    Args:
        now_s: The clock that runs on evenly.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._offset_s = time.time() - now_s()
        self._entered_s = now_s()
        self._met_s = now_s()
        self._step_began_s = now_s()
        self._ledger: Ledger | None = None
        self._tally: Tally | None = None
        self.on_close: Callable[[], object] = bool
        """Called once the ledger is closed."""
        self._heard: set[tuple[str, Urgency]] = set()
        self._hearing = threading.Lock()  # threads hear of notices, and of what all ranks stop for
        self._heard_stop = ""
        self.stop_heard_at: float | None = None
        """When the newest stop notice was heard of first, in seconds of Unix time."""
        self.straggler_score: float | None = None
        """Own time of the slowest rank in medians, where guards look for it. Only rank 0 knows."""
        self.straggler_s: float | None = None
        """What of each step is lost to a rank that was found to be slow; 0 while none is."""
        self.phases = Phases()
        """Of this rank."""
        self._node_phases: Sequence[PhaseTimes] = ()
        self._rank_phases: Sequence[PhaseTimes] = ()
        self._phases_at_s = now_s()

    def note_met(self) -> None:
        """Note that all ranks have met."""
        self._met_s = self._now_s()

    def open(self, root: Path, attempt: tuple[int, str], *, ranks: int, resumed_step: int) -> Begin:
        """Begin the ledger, once it is known where this attempt goes on. Only rank 0 calls it.

        Args:
            root: The checkpoint directory.
            attempt: Number and token.
            ranks: All of them, each with a device that is paid for.
            resumed_step: Steps that were finished.

        Returns:
            The record that it begins with.
        """
        number, token = attempt
        begin = Begin(
            at=self._at(self._now_s() - _process_age_s()),  # both as of now
            attempt=number,
            token=token,
            gpus=ranks,
            nodes=_nodes(),
            resumed_step=resumed_step,
        )
        self._ledger = Ledger(root, begin, self._now_s)
        self._tally = Tally(root, begin)
        entered, met = self._at(self._entered_s), self._at(self._met_s)
        self._ledger.note_part(Part.RENDEZVOUS, entered, met)
        self._ledger.note_part(Part.LOAD, met)
        for told in told_parts(os.environ.get(PARTS_VARIABLE, ""), begin.at):
            self._ledger.note_part(told.part, told.began, told.ended)
        return begin

    def note_step_begun(self) -> None:
        """Note that a step begins."""
        self._step_began_s = self._now_s()
        self.phases.begin_step()

    def note_step(self, step: int) -> None:
        """Note that it has been finished."""
        ended_s = self._now_s()
        self.phases.end_step(ended_s - self._step_began_s)
        if self._ledger is not None and self._tally is not None:
            began, ended = self._at(self._step_began_s), self._at(ended_s)
            late_s = min(self.straggler_s or 0.0, ended - began)
            self._ledger.note_step(step, began, ended, late_s)
            self._tally.note_step(ended - began)
            if ended_s - self._phases_at_s >= PHASES_EVERY_S:
                self._phases_at_s = ended_s
                self._write_phases(self._ledger)

    @property
    def spent(self) -> Spending | None:
        """What the run has paid for and got so far; None where nobody knows. Any thread may ask."""
        tally = self._tally
        return None if tally is None else tally.at(self.now())

    def now(self) -> float:
        """Return the instant, as it is recorded."""
        return self._at(self._now_s())

    def note_save(self, step: int, began: float, waited_s: float) -> None:
        """Note that the stall of a save is over, of which so long was for the save before."""
        ended = self.now()
        self.phases.note_save(ended - began)
        if self._ledger is not None:
            self._ledger.note_save(step, began, ended, waited_s)

    def note_commit(self, step: int) -> None:
        """Note that a save has become a checkpoint. Runs in the save's thread."""
        if self._ledger is not None:
            self._ledger.note_commit(step, self.now())

    def note_notice(self, notice: StopNotice) -> None:
        """Note that a notice was heard of. Runs in the thread that hears."""
        if notice.is_stop and notice.id != self._heard_stop:
            self._heard_stop, self.stop_heard_at = notice.id, self.now()
        self._write_notice(
            Heard(
                at=self.now(),
                id=notice.id,
                urgency=Urgency.STOP if notice.is_stop else Urgency.ADVISORY,
                received_at=notice.received_at,
                written_at=notice.written_at,
            )
        )

    def note_causes(self, notice_ids: Iterable[str]) -> None:
        """Note the notices for which all ranks stop: perhaps another node alone has heard of them.

        What a guard of this run asks for is none. Runs in the threads that hear.
        """
        for notice_id in notice_ids:
            if not notice_id.startswith(ROLL_BACK):
                self._write_notice(Heard(at=self.now(), id=notice_id))

    def note_slowness(self, score: float, late_s: float) -> None:
        """Note how slow the slowest rank is, and how many seconds of each step that takes."""
        self.straggler_score, self.straggler_s = score, late_s

    @property
    def node_phases(self) -> Sequence[PhaseTimes]:
        """Of the ranks on this node, by local rank: of this one, where no guards tell of others.

        Of none before the first step is finished. Any thread may ask.
        """
        own = self.phases.times
        return self._node_phases or ((own,) if own.steps else ())

    def note_phases(self, here: Sequence[PhaseTimes], everywhere: Sequence[PhaseTimes]) -> None:
        """Note the phases of the ranks here, and on rank 0 of all. Runs in the guards' thread."""
        self._node_phases, self._rank_phases = here, everywhere

    def note_finding(self, guard: str, step: int, text: str) -> None:
        """Note what a guard has found. Runs in the guards' thread."""
        if self._ledger is not None:
            self._ledger.note_finding(guard, step, text)

    def close(self, outcome: Outcome, step: int) -> None:
        """Note how this attempt leaves, and stop noting."""
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            self._write_phases(ledger)
            ledger.close(outcome, step)
            self.on_close()

    def _write_notice(self, heard: Heard) -> None:
        """Write it down once: a new deadline of it is no new notice."""
        with self._hearing:
            if self._ledger is not None and (heard.id, heard.urgency) not in self._heard:
                self._heard.add((heard.id, heard.urgency))
                self._ledger.note_notice(heard)

    def _write_phases(self, ledger: Ledger) -> None:
        known = self._rank_phases or (self.phases.times,)
        if known[0].steps:
            ledger.note_phases(spreads(known))

    def _at(self, seconds: float) -> float:
        return seconds + self._offset_s


def _process_age_s() -> float:
    """Return how long this process has been there: its start is part of the restart."""
    try:
        began_s = process_began_ticks() / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0
    return max(0.0, boottime_s() - began_s)


def _nodes() -> int:
    try:
        return max(1, int(os.environ.get(NODES_VARIABLE, "1")))
    except ValueError:
        return 1
