"""A pilot's log: what was written down of a run that kept no ledger. A few hours tell enough of T.

One row an event, in time order, seconds from any begin::

    0,down              the job is starting, or has been interrupted
    95,running          training: from the first step on
    400,stall,8.2       a save has stalled for so long
    424,lag,24          it was committed so long after
    3100,down
    3110,waiting        for capacity, until the next row of this kind
    3500,down
    3720,running
    7200,done           the end of the pilot, which is no interruption
"""

import math
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainer_hooks.errors import UntrustedFileError
from trainer_hooks.untrusted import shortened
from trainer_hooks.waste.estimate import Uptime
from trainer_hooks.waste.given_file import read_given
from trainer_hooks.waste.history import History

MAX_BYTES = 16 * 1024 * 1024

STATES = {"running", "down", "waiting", "done"}
FIGURES = {"stall", "lag"}

MAX_S = 1e11
"""The year 5138, as Unix time: no pilot is as long."""

ROWS = "its rows are seconds,running (or down, waiting, done), seconds,stall,S and seconds,lag,S"


@dataclass(slots=True)
class _Log:
    """What the rows up to now have said."""

    uptimes: list[Uptime] = field(default_factory=list)
    restarts_s: list[float] = field(default_factory=list)
    stall: list[float] = field(default_factory=list)
    lag: list[float] = field(default_factory=list)
    state: str = "down"
    since_s: float = 0.0
    down_s: float = 0.0
    """Of the restart under way, waiting aside."""

    def enter(self, state: str, at_s: float) -> None:
        """Take note that the job has changed."""
        took_s = at_s - self.since_s
        if self.state == "running":
            is_interrupted = state in {"down", "waiting"}
            self.uptimes.append(Uptime(running_s=took_s, is_interrupted=is_interrupted))
            self.down_s = 0.0
        elif self.state == "down":
            self.down_s += took_s
        if state == "running" and self.uptimes:  # the first start is no restart
            self.restarts_s.append(self.down_s)
        self.state, self.since_s = state, at_s


def read_pilot(path: Path) -> History:
    """Read a pilot's log.

    Raises:
        ConfigError: There is no such file, it is no regular one, or it cannot be read.
        UntrustedFileError: It is no such log.
    """
    where = shortened(str(path))
    data = read_given(path, "pilot's log", MAX_BYTES)
    try:
        return _history(list(_rows(data.removeprefix(BOM_UTF8).decode("ascii"))))
    except ValueError as error:
        raise UntrustedFileError(f"{where} is no pilot's log: {error}; {ROWS}") from error


def _rows(text: str) -> Iterator[tuple[float, str, float | None]]:
    newest = -math.inf
    for number, line in enumerate(text.splitlines(), 1):
        fields = [field_.strip() for field_ in line.split(",")]
        if fields == [""]:
            continue
        what = fields[1] if len(fields) > 1 else ""
        if (what in STATES and len(fields) == 2) or (what in FIGURES and len(fields) == 3):
            at_s = _seconds(fields[0], number)
            value = _seconds(fields[2], number) if what in FIGURES else None
        else:
            raise ValueError(f"line {number} is none of its rows: {line[:40]!r}")
        if not newest <= at_s <= MAX_S or (value is not None and not 0 <= value <= MAX_S):
            raise ValueError(f"line {number} goes back in time, or is no duration")
        newest = at_s
        yield at_s, what, value


def _seconds(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"line {number} has {text[:20]!r} for seconds") from None


def _history(rows: Sequence[tuple[float, str, float | None]]) -> History:
    log = _Log(since_s=rows[0][0] if rows else 0.0)
    for at_s, what, value in rows:
        if value is None:
            log.enter(what, at_s)
        else:
            getattr(log, what).append(value)
    if log.state == "running":  # under way: exposure without an interruption
        log.enter("done", rows[-1][0])
    return History(
        uptimes=tuple(log.uptimes),
        stalls_s=tuple(log.stall),
        lags_s=tuple(log.lag),
        restarts_s=tuple(log.restarts_s),
    )
