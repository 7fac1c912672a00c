"""The drills of months: one line of JSON each in a file, and what they come to."""

import json
import math
import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO

from watcher.drill.course import Course
from watcher.errors import ConfigError, StartFailed, escaped

SCHEMA = 1
MOST = 100_000
"""Drills that are read, the last ones: one a day on each of a hundred nodes for three years."""

MAX_LINE_BYTES = 64 * 1024
"""Of a report of a drill, which has about one."""

_DAMAGE = (ValueError, TypeError, KeyError, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One drill of the past."""

    at: datetime
    node: str
    stop_s: float
    """From the notice to the end, or to the commit where no end was seen."""
    window_s: float
    has_survived: bool


def add(path: Path, node: str, course: Course, at: datetime) -> None:
    """Append a drill to the file.

    Raises:
        StartFailed: It can't be written.
    """
    line = json.dumps(document(node, course, at)) + "\n"
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise StartFailed(f"{path}: {error.strerror}; the drill is not kept") from error


def document(node: str, course: Course, at: datetime) -> dict[str, Any]:
    """Return a drill as it is kept, and as programs are told of it."""
    shown = at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    said = {"schema": SCHEMA, "at": shown, "node": node, "stop_s": course.stop_s}
    return said | course.document()


def told(text: str) -> tuple[str, Course, datetime]:
    """Return the drill that such a document tells of: its node, its course, and when it was.

    Raises:
        ConfigError: It is none.
    """
    try:
        said = json.loads(text)
        past = _past(said)
        return past.node, Course.of(said), past.at
    except _DAMAGE as error:
        why = f"{type(error).__name__}: {error}"
        raise ConfigError(f"this is no report of a drill (drill --json): {why:.200}") from error


def read(path: Path) -> tuple[list[Past], int]:
    """Return the drills in the file, the oldest first, and how many lines were none.

    Raises:
        ConfigError: There is no such file, or it is no file of lines.
    """
    found: deque[Past] = deque(maxlen=MOST)
    odd = 0
    try:
        with _opened(path) as file:
            while line := file.readline(MAX_LINE_BYTES):
                try:
                    found.append(_past(json.loads(line)))
                except _DAMAGE:
                    odd += 1  # cut off by a full disk, or somebody's note
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; `drill --history {path}` begins one") from (
            error
        )
    return sorted(found, key=lambda one: one.at), odd


def _opened(path: Path) -> BinaryIO:
    """Open a file, and nothing that never ends or waits for somebody who writes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigError(f"{path} is no file of drills")
    return os.fdopen(descriptor, "rb")


def _past(said: Mapping[str, Any]) -> Past:
    at = datetime.fromisoformat(said["at"])
    stop_s, window_s = float(said["stop_s"]), float(said["window_s"])
    if said["schema"] != SCHEMA or at.tzinfo is None or not isinstance(said["node"], str):
        raise ValueError("no drill of this schema")
    if not (math.isfinite(stop_s) and math.isfinite(window_s)):
        raise ValueError("no finite number")
    return Past(
        at=at.astimezone(UTC),
        node=said["node"][:128],
        stop_s=stop_s,
        window_s=window_s,
        has_survived=said["survived"] is True,
    )


def table(drills: Sequence[Past]) -> Iterator[str]:
    """Yield a line for each drill, and the median stop time of each month."""
    yield f"{'WHEN':18}{'NODE':24}{'STOP':>9}{'WINDOW':>9}  "
    for one in drills:
        end = "survived" if one.has_survived else "lost"
        when = f"{one.at:%Y-%m-%d %H:%M}"
        node = escaped(one.node)[:22]
        yield f"{when:18}{node:24}{one.stop_s:7.1f} s{one.window_s:7.0f} s  {end}"
    months: dict[str, list[float]] = {}
    for one in drills:
        months.setdefault(f"{one.at:%Y-%m}", []).append(one.stop_s)
    for month, stops_s in months.items():
        many = "drill" if len(stops_s) == 1 else "drills"
        yield f"{month}: median {median(stops_s):.1f} s of {len(stops_s)} {many}"
