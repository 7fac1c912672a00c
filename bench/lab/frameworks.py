"""What becomes of a framework's training when it is told to stop, and whether it resumes.

A framework is a script of bench/lab/ that takes ``--way``, ``--saves``, ``--step-log`` and
``--until`` (torchrun takes what begins like an option of its own) and logs each step of each rank:
its number, sample ids, rate and loss, and the process.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

RANKS = 2
STEPS = 40
TOLD_AT = 22
"""The step after which the training is told; all ways save every 10 steps as well."""

LIMIT_S = 60.0
"""A training that has not ended so long after it was told is killed; AWS gives it 120."""

START_S = 240.0

OURS, TORCHRUN = "reprieve-trainer", "torchrun"

Record = tuple[list[int], float, float]


class Told(StrEnum):
    """Who gets the SIGTERM."""

    ONE = "one rank"
    ALL = "all ranks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way in which a framework's training can be stopped."""

    framework: str
    name: str
    """What the script takes as ``--way``."""
    says: str
    """In words, for the table."""
    script: Path
    launcher: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of one stop and one resume."""

    way: Way
    told: Told
    stopped_at: tuple[int, ...]
    """Steps that each rank had finished."""
    code: int | None
    """Of the launcher; None: it hung and was killed."""
    seconds: float
    """From the SIGTERM to the launcher's end."""
    resumed_at: int | None
    """Where the next start began; 0: it had nothing to resume; None: it failed before a step."""
    is_exact: bool
    """Whether all that followed was the unbroken training's, bit for bit."""

    @property
    def is_together(self) -> bool:
        """True where all ranks have stopped after the same step."""
        return len(set(self.stopped_at)) == 1

    @property
    def checkpoint(self) -> str:
        """What the checkpoint was good for, in words."""
        if self.resumed_at is None:
            return "the next start fails"
        if self.resumed_at == 0:
            return "none"
        lost = max(self.stopped_at) - self.resumed_at
        worth = "exact" if self.is_exact else "goes on differently"
        return f"{worth}, {lost} step{'s' * (lost > 1)} lost" if lost else worth

    def to_json(self) -> dict[str, object]:
        """Return it for the last line."""
        return {
            "framework": self.way.framework,
            "way": self.way.name,
            "told": str(self.told),
            "stopped_at": list(self.stopped_at),
            "code": self.code,
            "seconds": round(self.seconds, 1),
            "resumed_at": self.resumed_at,
            "exact": self.is_exact,
        }


def straight(way: Way, place: Path) -> list[dict[int, Record]]:
    """Train without a break; return what each rank has done, by step."""
    log = place / "log"
    with _started(way, place / "saves", log, place / "straight.txt") as job:
        code = job.wait(START_S)
    if code:
        raise RuntimeError(f"{way.says} ended with {code}: {(place / 'straight.txt').read_text()}")
    return [_history(log, rank) for rank in range(RANKS)]


def stop(way: Way, told: Told, unbroken: list[dict[int, Record]], place: Path) -> Seen:
    """Tell a training to stop, start it again, and see what it was worth."""
    first, second = place / "first", place / "second"
    with _started(way, place / "saves", first, place / "first.txt") as job:
        _until(lambda: min(_last(first, rank) for rank in range(RANKS)) >= TOLD_AT, job)
        began_s = time.monotonic()
        os.kill(_process(first, 1) if told is Told.ONE else job.pid, signal.SIGTERM)
        code = _code(job)
        seconds = time.monotonic() - began_s
    with _started(way, place / "saves", second, place / "second.txt") as job:
        is_done = job.wait(START_S) == 0
    after = [_history(second, rank) for rank in range(RANKS)]
    begins = min((min(steps) for steps in after if steps), default=None)
    same = [
        all(unbroken[rank][step] == record for step, record in steps.items())
        and max(steps, default=-1) == STEPS - 1
        for rank, steps in enumerate(after)
    ]
    return Seen(
        way=way,
        told=told,
        stopped_at=tuple(_last(first, rank) + 1 for rank in range(RANKS)),
        code=code,
        seconds=seconds,
        resumed_at=begins,
        is_exact=is_done and all(same),
    )


def _started(way: Way, saves: Path, log: Path, said: Path) -> "subprocess.Popen[bytes]":
    tool = Path(sys.executable).with_name(way.launcher)
    launch = [str(tool), "launch"] if way.launcher == OURS else [str(tool)]
    launch += ["--standalone", f"--nproc-per-node={RANKS}", str(way.script)]
    log.mkdir(parents=True)
    options = [f"--way={way.name}", f"--saves={saves}", f"--step-log={log}", f"--until={STEPS}"]
    with said.open("wb") as out:
        return subprocess.Popen(  # noqa: S603 - our own scripts
            [*launch, *options],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )


def _code(job: "subprocess.Popen[bytes]") -> int | None:
    try:
        return job.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        return None


def _until(holds: Callable[[], bool], job: "subprocess.Popen[bytes]") -> None:
    end_s = time.monotonic() + START_S
    while not holds():
        if job.poll() is not None or time.monotonic() > end_s:
            raise RuntimeError(f"the training ended before step {TOLD_AT}: {job.args!r}")
        time.sleep(0.02)


def _records(log: Path, rank: int) -> list[dict[str, object]]:
    path = log / f"rank_{rank}.jsonl"
    lines = path.read_text(encoding="ascii").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _last(log: Path, rank: int) -> int:
    records = _records(log, rank)
    return int(str(records[-1]["step"])) if records else -1


def _process(log: Path, rank: int) -> int:
    return int(str(_records(log, rank)[0]["pid"]))


def _history(log: Path, rank: int) -> dict[int, Record]:
    return {
        one["step"]: (one["ids"], one["lr"], one["loss"])  # type: ignore[misc]  # as the scripts write it
        for one in _records(log, rank)
    }
