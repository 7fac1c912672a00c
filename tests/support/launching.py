"""The real launcher, as its users start it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

EXECUTABLE = Path(sys.executable).with_name("reprieve-trainer")


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One running launch; leaving the block kills what is left of it."""

    process: subprocess.Popen[bytes]
    report_path: Path
    output_path: Path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def wait(self, timeout_s: float = 90.0) -> int:
        """Return the exit code; fail with what was written when there is none in time."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGSTOP)  # or it ends the others as the first one dies
            hanging = descendants(self.process.pid)
            for pid in hanging:
                os.kill(pid, signal.SIGABRT)  # PYTHONFAULTHANDLER: each writes where it is
            wait_until(lambda: not any(is_alive(pid) for pid in hanging), "the hanging to end")
            pytest.fail(f"no exit within {timeout_s} s; so far:\n{self.output}")

    @property
    def report(self) -> dict[str, Any]:
        """What the launch says of its end."""
        report: dict[str, Any] = json.loads(self.report_path.read_text(encoding="utf-8"))
        return report

    @property
    def output(self) -> str:
        """What launcher and ranks have written."""
        return self.output_path.read_text(encoding="utf-8", errors="replace")


def launch(
    directory: Path,
    script: Path,
    *arguments: str,
    ranks: int = 2,
    options: Sequence[str] = (),
    inside: Sequence[str] = (),
) -> Launch:
    """Start ``reprieve-trainer launch``, in a process group of its own and by another command."""
    directory.mkdir(parents=True, exist_ok=True)
    report, output = directory / "report.json", directory / f"output_{time.monotonic_ns()}.txt"
    command: list[str | Path] = [*inside, EXECUTABLE, "launch", f"--report={report}", *options]
    command += [f"--nproc-per-node={ranks}", script, *arguments]
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ
            | {
                "REPRIEVE_RUN_DIR": str(directory / "run"),
                "OMP_NUM_THREADS": "1",
                "PYTHONFAULTHANDLER": "1",
                "PYTHONPATH": str(Path(__file__).parents[2]),  # for scripts that use tests.support
            },
        )
    return Launch(process=process, report_path=report, output_path=output)


def children(pid: int) -> list[int]:
    """Return a process's children."""
    while True:
        try:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            words = [word for task in tasks for word in (task / "children").read_text().split()]
        except FileNotFoundError:  # a thread has ended, and its children are another's now
            if not is_alive(pid):
                raise
        else:
            return [int(word) for word in words]


def descendants(pid: int) -> list[int]:
    """Return the pids of all that a process has started, the deepest first."""
    below = children(pid)
    return [deeper for child in below for deeper in descendants(child)] + below


def vanish(running: Launch) -> None:
    """End a node without a word: its launcher and its ranks at once."""
    for pid in [*descendants(running.process.pid), running.process.pid]:
        os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = 80.0) -> None:
    """Wait for a condition; fail by name when it does not come."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"waited {timeout_s} s in vain for {what}"
        time.sleep(0.02)
