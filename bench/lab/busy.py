"""A machine whose cores all have something else to do."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core of this machine busy inside the block, at the usual priority."""
    spin = [sys.executable, "-c", "while True: pass"]
    number = os.cpu_count() or 1
    spinning = [subprocess.Popen(spin) for _ in range(number)]  # noqa: S603 - our own
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
        for process in spinning:
            process.wait()
