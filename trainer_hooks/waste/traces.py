"""Traces: how many nodes of a pool there were over time, as others have recorded it.

Five ways of writing are read, told apart by what is in the file:

- ``time,add|remove,node``: one row a node that comes or goes; the time in milliseconds
- ``time,count``: one row a change, or two (before and after); the time in seconds, in milliseconds
  if all are whole thousands, in hours if they have decimals
- ``YYYY-MM-DD, HH:MM:SS, count``: polled, in whatever zone; rows that go back in time are dropped

The time of the first two counts from the begin of the trace, with no nodes before the first row.
A byte order mark, as spreadsheets write it, is passed over; a line of names is no row.
"""

import math
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from trainer_hooks.errors import UntrustedFileError
from trainer_hooks.untrusted import in_one_line, shortened
from trainer_hooks.waste.given_file import read_given

MAX_BYTES = 64 * 1024 * 1024
"""Larger than a year of a large pool, polled every second."""

MAX_NODES = 1_000_000

MAX_S = 1e11
"""The year 5138, as Unix time: no trace is as long."""

ROWS = "its rows are ms,add|remove,node, or time,count, or YYYY-MM-DD, HH:MM:SS, count"


class TimeUnit(StrEnum):
    """What the first column of a trace counts."""

    MILLISECONDS = "ms"
    SECONDS = "s"
    HOURS = "h"
    CLOCK = "clock"
    """Date and time."""


_SECONDS = {TimeUnit.MILLISECONDS: 1e-3, TimeUnit.SECONDS: 1.0, TimeUnit.HOURS: 3600.0}

Row = tuple[float, int]
"""Time, and the number of nodes from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One interruption: nodes that went together."""

    at_s: float
    """Since the begin of the trace."""
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Node counts over time."""

    name: str
    unit: TimeUnit
    """In what its times were taken to be: show it, it is guessed."""
    rows: tuple[Row, ...]
    """Seconds since the begin of the trace, which is 0, and nodes from then on."""

    @property
    def span_s(self) -> float:
        """From its begin to its last row."""
        return self.rows[-1][0]

    @property
    def peak_nodes(self) -> int:
        """The most nodes there were."""
        return max(count for _, count in self.rows)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The distinct interruptions: where the count fell. What was replaced between rows hides.

        Nodes lost at one instant are one interruption.
        """
        pairs = zip(self.rows, self.rows[1:], strict=False)
        return tuple(Loss(at_s=at, nodes=old - new) for (_, old), (at, new) in pairs if new < old)

    @property
    def node_hours(self) -> float:
        """Hours that nodes have run, all together."""
        return sum(count * seconds for count, seconds in self.stretches()) / 3600

    def stretches(self) -> Iterator[tuple[int, float]]:
        """Yield each count and the seconds it lasted."""
        for (begin, count), (end, _) in zip(self.rows, self.rows[1:], strict=False):
            yield count, end - begin

    def share_with(self, nodes: int) -> float:
        """Return the fraction of the time in which there were at least so many nodes."""
        return math.fsum(s for count, s in self.stretches() if count >= nodes) / self.span_s


def read_trace(path: Path, unit: TimeUnit | None = None) -> Trace:
    """Read a trace.

    Args:
        path: Of the file; ``-`` stands for the standard input.
        unit: Of its times, where what is in the file would tell wrongly.

    Raises:
        ConfigError: There is no such file, it is no regular one, or it cannot be read.
        UntrustedFileError: It is no trace, or one without a second instant.
    """
    where = shortened(str(path))
    data = read_given(path, "trace", MAX_BYTES)
    try:
        text = data.removeprefix(BOM_UTF8).decode("ascii")
        lines = [line.split(",") for line in text.splitlines() if line.strip()]
        return _parse(in_one_line(path.name), lines, unit)
    except ValueError as error:
        raise UntrustedFileError(f"{where} is no trace: {shortened(str(error))}; {ROWS}") from error


def _parse(name: str, lines: Sequence[Sequence[str]], unit: TimeUnit | None) -> Trace:
    if not lines:
        raise ValueError("it is empty")
    polled = len(lines[0]) == 3 and "-" in lines[0][0]
    if polled:
        unit, rows = TimeUnit.CLOCK, list(_polled(lines))
    elif len(lines[0]) == 3:
        unit, rows = unit or TimeUnit.MILLISECONDS, list(_nodes(lines))
    else:
        unit, rows = unit or _guess_unit([line[0] for line in lines]), list(_counts(lines))
    begin = rows[0][0] if polled else 0.0
    times = [(at - begin) * _SECONDS.get(unit, 1.0) for at, _ in rows]
    netted: list[Row] = [(0.0, 0)]
    for at, (_, count) in zip(times, rows, strict=True):
        if not netted[-1][0] <= at <= MAX_S:
            raise ValueError(f"its times go back, or are none, at {at} s")
        if not 0 <= count <= MAX_NODES:
            raise ValueError(f"{count} is no number of nodes")
        if at == netted[-1][0]:  # the last word of an instant counts
            netted.pop()
        netted.append((at, count))
    if len(netted) < 2:
        raise ValueError("it is over at its first instant")
    return Trace(name=name, unit=unit, rows=tuple(netted))


def _nodes(lines: Sequence[Sequence[str]]) -> Iterator[Row]:
    there: set[str] = set()
    for number, line in enumerate(lines, 1):
        at, what, node = (field.strip() for field in _fields(line, 3, number))
        if what not in {"add", "remove"}:
            raise ValueError(f"line {number} neither adds nor removes, but says {what[:20]!r}")
        if (node in there) is (what == "add"):
            raise ValueError(f"line {number} would {what} {node[:20]!r}, which is not possible")
        there ^= {node}
        yield _seconds(at, number), len(there)


def _counts(lines: Sequence[Sequence[str]]) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        at, count = _fields(line, 2, number)
        yield _seconds(at, number), _nodes_there(count, number)


def _polled(lines: Sequence[Sequence[str]]) -> Iterator[Row]:
    """Several pollers may have written one file: what is not later than the row before is old."""
    newest = -math.inf
    for number, line in enumerate(lines, 1):
        day, clock, count = _fields(line, 3, number)
        # Without a zone, as it was written: only differences matter.
        try:
            at = datetime.fromisoformat(f"{day.strip()}T{clock.strip()}+00:00").timestamp()
        except ValueError as error:
            raise ValueError(f"line {number} has no date and time: {error}") from error
        if at > newest:
            newest = at
            yield at, _nodes_there(count, number)


def _seconds(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"line {number} begins with {text[:20]!r}, which is no time") from None


def _nodes_there(text: str, number: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"line {number} has {text[:20]!r} for a number of nodes") from None


def _fields(line: Sequence[str], count: int, number: int) -> Sequence[str]:
    if len(line) != count:
        raise ValueError(f"line {number} has {len(line)} fields, not {count}")
    return line


def _guess_unit(times: Sequence[str]) -> TimeUnit:
    if any("." in time for time in times):
        return TimeUnit.HOURS
    whole = all(_seconds(at, number) % 1000 == 0 for number, at in enumerate(times, 1))
    return TimeUnit.MILLISECONDS if whole and len(times) > 1 else TimeUnit.SECONDS
