"""Ends in a row without a new checkpoint: crash after crash is a bug that no node will cure.

Each launch that ends in a crash or a preemption leaves a small file beside the checkpoints, named
by its attempt. What is newer than the newest checkpoint counts: a commit begins the row anew.
Preemptions are counted apart and only reported. They are nobody's fault, and end no job.
"""

import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trainer_hooks.checkpoint.durable import write_file
from trainer_hooks.checkpoint.latest import latest_committed
from trainer_hooks.checkpoint.place import Place, place_of
from trainer_hooks.errors import CheckpointError, ConfigError
from trainer_hooks.launch.exit_codes import (
    EXIT_CONFIG,
    EXIT_CRASH_LOOP,
    EXIT_DONE,
    EXIT_PEER_LOST,
    EXIT_PREEMPTED,
)
from trainer_hooks.results import RankResult

log = logging.getLogger(__name__)

FOLDER = ".ends"

_NAME = re.compile(r"a(\d{1,15})\.(crashed|preempted)")


class End(StrEnum):
    """How a launch has ended that did not finish."""

    CRASHED = "crashed"
    PREEMPTED = "preempted"


_NO_CRASH = (EXIT_DONE, EXIT_PREEMPTED, EXIT_PEER_LOST, EXIT_CONFIG)


@dataclass(frozen=True, slots=True)
class Row:
    """How many starts in a row have ended so, and committed nothing."""

    crashes: int = 0
    preemptions: int = 0


def code_in_a_row(
    code: int, results: Sequence[RankResult | None], *, max_crashes: int
) -> tuple[int, str]:
    """Return the exit code of a launch in view of those before it, and what to say of them.

    Args:
        code: What it would be for this launch alone.
        results: By local rank, what each rank has left.
        max_crashes: So many crashes in a row, with no commit in between, are a crash loop.
    """
    end = End.PREEMPTED if code == EXIT_PREEMPTED else End.CRASHED
    if code in _NO_CRASH and end is End.CRASHED:
        return code, ""
    for result in results:
        if result is not None and result.root is not None and result.attempt is not None:
            row = note_end(result.root, result.attempt, end)
            return _judged(code, end, row, max_crashes)
    return code, ""


def note_end(root: str | os.PathLike[str], attempt: int, end: End) -> Row:
    """Leave word of how an attempt has ended; the launchers of all its nodes may.

    Args:
        root: The checkpoint directory, a path or a URL.
        attempt: Its number.
        end: How.

    Returns:
        The row, this one included; an empty one if it cannot be told, which is no reason to fail.
    """
    try:
        place = place_of(root)
        folder = place / FOLDER
        folder.mkdir(exist_ok=True)
        write_file(folder / f"a{attempt}.{end}", b"")
        newest = latest_committed(place)
        since = 0 if newest is None else newest.marker.name.attempt.number
        return _row(folder, since)
    except (OSError, CheckpointError, ConfigError) as error:
        log.warning("how often this job has crashed in a row is not known: %s", error)
        return Row()


def _judged(code: int, end: End, row: Row, max_crashes: int) -> tuple[int, str]:
    without = "and no new checkpoint"
    if end is End.PREEMPTED:
        said = f"; {row.preemptions} preemptions in a row {without}" if row.preemptions > 1 else ""
        return code, said
    if row.crashes >= max_crashes:
        said = f"; {row.crashes} crashes in a row {without}, so starting again is no use"
        return EXIT_CRASH_LOOP, f"{said} (this one's code was {code})"
    return code, f"; crash {row.crashes} of {max_crashes} {without}" if row.crashes else ""


def _row(folder: Place, since: int) -> Row:
    """Count the ends after an attempt, and forget those before."""
    counts = dict.fromkeys(End, 0)
    for path, attempt, end in _ends(folder):
        if attempt > since:
            counts[end] += 1
        else:
            path.unlink(missing_ok=True)
    return Row(crashes=counts[End.CRASHED], preemptions=counts[End.PREEMPTED])


def _ends(folder: Place) -> Iterator[tuple[Place, int, End]]:
    entries: list[Place] = list(folder.iterdir())
    for path in entries:
        if match := _NAME.fullmatch(path.name):
            yield path, int(match[1]), End(match[2])
