"""Whether a process is there, and whose."""

from collections.abc import Callable
from pathlib import Path

Children = Callable[[], set[int]]
"""The pids of this process's children that a test has brought."""


def lives(pid: int) -> bool:
    """Tell whether the process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
