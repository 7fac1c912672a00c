"""Reading a ledger: attempts with all that is known of them, in the order they came."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from trainer_hooks.errors import ConfigError, UntrustedFileError
from trainer_hooks.phases import Phase
from trainer_hooks.untrusted import read_plain_file
from trainer_hooks.waste.found import Found
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.phase_spent import PhaseSpent
from trainer_hooks.waste.records import (
    Begin,
    Committed,
    End,
    Heard,
    Outcome,
    Record,
    Saved,
    Spent,
    Steps,
    from_json,
)

MAX_BYTES = 256 * 1024 * 1024
"""Of one attempt: two years at a line a second."""

MAX_FILES = 100_000


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One start of the job, as its record has it."""

    begin: Begin
    parts: list[Spent] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)
    saves: list[Saved] = field(default_factory=list)
    commits: list[Committed] = field(default_factory=list)
    notices: list[Heard] = field(default_factory=list)
    findings: list[Found] = field(default_factory=list)
    phases: dict[Phase, PhaseSpent] = field(default_factory=dict)
    """The last word on each."""
    end: End | None = None
    """None: it was killed, or is under way."""
    kept_steps: int | None = None
    """Steps below this are in the run's history: no later attempt began before them. None: all."""
    torn_lines: int = 0
    """Lines that are no records: half written, or damaged."""

    @property
    def last_at(self) -> float:
        """The last that is known of it."""
        known = [self.begin.at]
        known += [part.ended for part in self.parts]
        known += [steps.ended for steps in self.steps]
        known += [save.ended for save in self.saves]
        known += [commit.at for commit in self.commits]
        known += [notice.at for notice in self.notices]
        known += [finding.at for finding in self.findings]
        known += [spent.at for spent in self.phases.values()]
        if self.end is not None:
            known.append(self.end.at)
        return max(known)

    @property
    def at_step(self) -> int:
        """Steps that were finished when it ended."""
        return self.steps[-1].end if self.steps else self.begin.resumed_step

    @property
    def is_left_at_will(self) -> bool:
        """Whether nothing took it down: it has finished, or a person has stopped it."""
        return self.end is not None and self.end.outcome in {Outcome.FINISHED, Outcome.STOPPED}

    def is_kept(self, step: int) -> bool:
        """Tell whether the state after ``step`` steps is in the run's history."""
        return self.kept_steps is None or step <= self.kept_steps


def read_ledger(root: Path) -> tuple[Attempt, ...]:
    """Read the record beside a run's checkpoints, and resolve which steps have lasted.

    Args:
        root: The checkpoint directory.

    Raises:
        ConfigError: There is none, or it cannot be read.
        UntrustedFileError: A file in it is none of ours.
    """
    attempts = read_attempts(root)
    if not attempts:
        raise ConfigError(
            f"there is no ledger in {root / FOLDER}: has a run written checkpoints there?"
        )
    return attempts


def read_attempts(root: Path) -> tuple[Attempt, ...]:
    """Read a ledger as :func:`read_ledger` does; where there is none, no attempt was made."""
    folder = root / FOLDER
    try:
        paths = sorted(folder.glob("a*.jsonl"))
        attempts = [read for path in paths[:MAX_FILES] if (read := _read(path)) is not None]
    except OSError as error:
        raise ConfigError(f"the ledger {folder} cannot be read: {error.strerror}") from error
    attempts.sort(key=lambda attempt: attempt.begin.attempt)
    kept: int | None = None
    for attempt in reversed(attempts):
        attempt.kept_steps = kept
        resumed = attempt.begin.resumed_step
        kept = resumed if kept is None else min(kept, resumed)
    return tuple(attempts)


def _read(path: Path) -> Attempt | None:
    """Read one attempt; None if it was killed before its first line was whole."""
    attempt: Attempt | None = None
    torn = 0
    for line in read_plain_file(path, max_bytes=MAX_BYTES).splitlines():
        record = _parse(line)
        if record is None:
            torn += 1
        elif isinstance(record, Begin):
            if attempt is not None:
                raise UntrustedFileError(f"{path} begins twice")
            attempt = Attempt(begin=record)
        elif attempt is not None:
            _add(attempt, record)
    if attempt is not None:
        attempt.torn_lines = torn
    return attempt


def _parse(line: bytes) -> Record | None:
    try:
        return from_json(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _add(attempt: Attempt, record: Record) -> None:
    match record:
        case Spent():
            attempt.parts.append(record)
        case Steps():
            attempt.steps.append(record)
        case Saved():
            attempt.saves.append(record)
        case Committed():
            attempt.commits.append(record)
        case Heard():
            attempt.notices.append(record)
        case Found():
            attempt.findings.append(record)
        case PhaseSpent():
            attempt.phases[record.phase] = record
        case End():
            attempt.end = record
        case Begin():
            raise AssertionError("unreachable")
