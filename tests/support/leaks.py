"""What a process holds, to be compared before and after."""

import threading
from pathlib import Path


def open_descriptors() -> set[str]:
    """Return this process's descriptors, each with what it leads to."""
    held = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            held.add(f"{link.name} -> {link.readlink()}")
        except FileNotFoundError:  # the one that listed the directory
            continue
    return held


def thread_names() -> list[str]:
    """Return the names of our threads that live, sorted."""
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("reprieve"))
