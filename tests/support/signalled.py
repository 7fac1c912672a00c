"""A process that says which signals it gets."""

import subprocess
import sys
from pathlib import Path

COUNTS_SIGNALS = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"TERM\\n"))
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"USR1\\n"))
print("ready", flush=True)
sys.stdin.readline()
"""


class Trainer:
    """A process that prints each signal it gets, and ends when told to on its standard input."""

    def __init__(self, pid_file: Path) -> None:
        self.pid_file = pid_file
        self.process = subprocess.Popen(
            [sys.executable, "-c", COUNTS_SIGNALS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        pid_file.write_text(f"{self.process.pid}\n")

    def end(self) -> list[str]:
        """End it, and return the signals it got."""
        out, _ = self.process.communicate("\n", timeout=20)
        return out.split()
