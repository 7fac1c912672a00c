"""Whether a process is there."""

from pathlib import Path


def lives(pid: int) -> bool:
    """Tell whether the process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
