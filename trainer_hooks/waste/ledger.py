"""The ledger: what happened when, written as it happens, beside the checkpoints.

One file an attempt, ``.ledger/a17-5f3c.jsonl``, so that nobody ever writes to another's: a process
that was taken for dead can't spoil the record of its successor. Lines are only appended. Whoever is
killed leaves at most half a line, and the seconds since his last one.

Nothing of the training waits for it: a thread of its own writes, and what it can't write is a
warning, and tried again.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from trainer_hooks.phases import Spread
from trainer_hooks.waste.found import TEXT_LIMIT, Found
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.ledger_writer import LedgerWriter
from trainer_hooks.waste.phase_spent import PhaseSpent
from trainer_hooks.waste.records import (
    Begin,
    Committed,
    End,
    Outcome,
    Part,
    Saved,
    Spent,
    Steps,
)

FOLDER = ".ledger"

WRITE_EVERY_S = 10.0
"""Steps are written this often, if no save comes before: what a kill may take from the record."""


class Ledger:
    """Writes one attempt's record. Rank 0 has one; any thread may note, one trains.

    Args:
        root: The checkpoint directory.
        begin: Of this attempt.
        now_s: The clock that runs on evenly; ``time.time`` is asked once.
    """

    def __init__(
        self, root: Path, begin: Begin, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._now_s = now_s
        self._offset_s = time.time() - now_s()
        self._next_step: int | None = None
        """The step after those that are not written yet; None while all are."""
        self._first_step = 0
        self._steps_began = self._steps_ended = self._straggler_s = 0.0
        self._is_warm = False
        self._written_s = now_s()
        name = f"a{begin.attempt}-{begin.token}.jsonl"
        self._writer = LedgerWriter(root / FOLDER / name)
        self._writer.put(begin)

    def now(self) -> float:
        """Return the instant, as it is recorded."""
        return self._now_s() + self._offset_s

    def note_part(self, part: Part, began: float, ended: float | None = None) -> None:
        """Note a part of the restart that has ended, now unless it is said when."""
        ended = self.now() if ended is None else ended
        self._writer.put(Spent(part=part, began=began, ended=max(began, ended)))

    def note_step(self, step: int, began: float, ended: float, straggler_s: float = 0.0) -> None:
        """Note a step that was finished. The training thread calls it after each."""
        if self._next_step != step:
            self._write_steps()
            self._first_step, self._steps_began, self._straggler_s = step, began, 0.0
        self._next_step = step + 1
        self._steps_ended = ended
        self._straggler_s += straggler_s
        if not self._is_warm or self._now_s() - self._written_s >= WRITE_EVERY_S:
            self._is_warm = True  # the first step is a record of its own: it takes longer
            self._write_steps()

    def note_save(self, step: int, began: float, ended: float, waited_s: float = 0.0) -> None:
        """Note the stall of a save, after ``step`` steps. The training thread calls it."""
        self._write_steps()
        self._writer.put(Saved(step=step, began=began, ended=ended, waited_s=waited_s))

    def note_commit(self, step: int, at: float) -> None:
        """Note that a save has become a checkpoint."""
        self._writer.put(Committed(step=step, at=at))

    def note_notice(self, heard: Heard) -> None:
        """Note that a notice was heard of."""
        self._writer.put(heard)

    def note_finding(self, guard: str, step: int, text: str) -> None:
        """Note that a guard has found something."""
        self._writer.put(Found(at=self.now(), guard=guard, step=step, text=text[:TEXT_LIMIT]))

    def note_phases(self, spread: Iterable[Spread]) -> None:
        """Note what the phases of all steps so far have taken."""
        for one in spread:
            self._writer.put(PhaseSpent(at=self.now(), **asdict(one)))

    def close(self, outcome: Outcome, step: int) -> None:
        """Write what is left, and that this attempt leaves. Takes at most a second."""
        self._write_steps()
        self._writer.put(End(at=self.now(), outcome=outcome, step=step))
        self._writer.close()

    def _write_steps(self) -> None:
        if self._next_step is not None:
            self._writer.put(
                Steps(
                    first=self._first_step,
                    end=self._next_step,
                    began=self._steps_began,
                    ended=self._steps_ended,
                    straggler_s=self._straggler_s,
                )
            )
            self._next_step = None
            self._written_s = self._now_s()
