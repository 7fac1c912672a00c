"""Waiting for what another thread or process does, without a fixed sleep."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], object], limit_s: float = 60.0) -> None:
    """Return as soon as ``holds`` returns something true; fail after a generous limit."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
