"""Reading a ledger: attempts with all that is known of them, in the order they came."""

import json
from pathlib import Path

from trainer_hooks.errors import ConfigError, UntrustedFileError
from trainer_hooks.untrusted import read_plain_file
from trainer_hooks.waste.attempt import Attempt
from trainer_hooks.waste.clock_set_back import in_sequence
from trainer_hooks.waste.found import Found
from trainer_hooks.waste.heard import Heard
from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.phase_spent import PhaseSpent
from trainer_hooks.waste.records import (
    Begin,
    Committed,
    End,
    Record,
    Saved,
    Spent,
    Steps,
    from_json,
)

MAX_BYTES = 256 * 1024 * 1024
"""Of one attempt: two years at a line a second."""

MAX_FILES = 100_000


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
    except UntrustedFileError as error:
        raise UntrustedFileError(f"{error}: it is none of ours; move it out of there") from error
    attempts.sort(key=lambda attempt: attempt.begin.attempt)
    attempts = in_sequence(attempts)
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
        if not line:  # after one that was broken off
            continue
        record = _parse(line)
        if record is None:
            torn += 1
        elif isinstance(record, Begin):
            if attempt is None:
                attempt = Attempt(begin=record)
            else:  # a line copied twice, or somebody else's: the first word counts
                torn += 1
        elif attempt is not None:
            _add(attempt, record)
    if attempt is not None:
        attempt.torn_lines = torn
        _tidy(attempt)
    return attempt


def _tidy(attempt: Attempt) -> None:
    """Put an attempt's records in order, and leave out what is there twice."""
    attempt.parts = list(dict.fromkeys(attempt.parts))
    attempt.steps = sorted(dict.fromkeys(attempt.steps), key=lambda steps: steps.began)
    attempt.saves = sorted(dict.fromkeys(attempt.saves), key=lambda save: save.began)
    attempt.commits = list(dict.fromkeys(attempt.commits))
    attempt.notices = sorted(dict.fromkeys(attempt.notices), key=lambda notice: notice.at)
    attempt.findings = list(dict.fromkeys(attempt.findings))


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
