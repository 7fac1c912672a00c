"""Every bench once, one after the other: they would disturb each other."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from lab.machine import machine

from page.stored import Stored

LIMIT_S = 600.0
"""Of one bench; at its small size each takes a few minutes at the most."""

SHOWN = 3
"""Last lines of what a failed bench has said."""


def run_all(scripts: Sequence[Path], folder: Path, *, limit_s: float = LIMIT_S) -> list[Stored]:
    """Run each, and write its result at once; one that fails keeps no other from its turn."""
    folder.mkdir(parents=True, exist_ok=True)
    done = []
    for number, script in enumerate(scripts, 1):
        print(f"[{number}/{len(scripts)}] {script.stem} ...", end=" ", flush=True)
        stored = run_one(script, limit_s=limit_s)
        print(f"{stored.verdict}, {stored.wall_s:.0f} s", flush=True)
        stored.write(folder)
        done.append(stored)
    return done


def run_one(script: Path, *, limit_s: float = LIMIT_S) -> Stored:
    """Run one bench at its small size."""
    ran_at, on, commit = datetime.now(UTC), machine(), commit_of(script.parent)
    began_s = monotonic()
    # A session of its own, so that ranks and servers of a bench that hangs end with it.
    process = subprocess.Popen(  # noqa: S603 - a bench of ours
        [sys.executable, str(script), "--small"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=limit_s)
        result, error = judged(process.returncode, said, complained)
    except subprocess.TimeoutExpired:
        result, error = None, f"it did not end within {limit_s:g} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Stored(
        bench=script.stem,
        ran_at=ran_at.isoformat(timespec="seconds"),
        commit=commit,
        size="small",
        wall_s=round(monotonic() - began_s, 1),
        machine=on,
        result=result,
        error=error,
    )


def judged(status: int, said: str, complained: str) -> tuple[dict[str, Any] | None, str | None]:
    """Return the last line of a bench that has ended, or why it counts for nothing."""
    lines = said.rstrip().splitlines()
    try:
        result = json.loads(lines[-1]) if lines else None
    except ValueError:
        result = None
    if not isinstance(result, dict) or "missed" not in result:
        last = " / ".join((complained.strip() or said.strip()).splitlines()[-SHOWN:])
        return None, f"exit status {status}, and no result: {last or 'not a word'}"
    if status != (1 if result["missed"] else 0):
        return None, f"exit status {status}, which doesn't agree with its last line"
    return result, None


def commit_of(folder: Path) -> str:
    """Return the commit that a folder is of, or ``unknown`` outside of a clone."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(  # noqa: S603 - git
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def summary(done: Iterable[Stored]) -> list[str]:
    """Name each bench that has failed or missed its target, with the reason."""
    lines = []
    for stored in done:
        if stored.verdict == "failed":
            lines.append(f"{stored.bench} failed: {stored.error}")
        elif stored.verdict == "missed":
            lines.append(f"{stored.bench} missed its target")
    return lines
