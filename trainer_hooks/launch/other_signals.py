"""Signals that are no notice, while a launch runs.

SIGUSR2 means nothing to us: it is for the ranks whose script has a handler for it. And Ctrl-C ends
a launch at once where it waits for the other nodes: in C, where no Python handler runs.
"""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

log = logging.getLogger(__name__)


@contextmanager
def other_signals() -> Iterator[None]:
    """Handle them while the block runs. Call it from the main thread."""
    others = (signal.SIGINT, signal.SIGQUIT, signal.SIGUSR2)
    before = {number: signal.getsignal(number) for number in others}
    if before[signal.SIGINT] == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until torchrun has ranks to hand it to
    signal.signal(signal.SIGUSR2, _pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(number: int, _frame: FrameType | None) -> None:
    """Hand a signal to this process's children that handle it; the others would die of it."""
    told = [pid for pid in children() if _handles(pid, number)]
    for pid in told:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    log.warning(
        "%s is passed on to %d ranks that handle it", signal.Signals(number).name, len(told)
    )


def children() -> list[int]:
    """Return the processes that this one has started.

    Raises:
        OSError: The kernel does not say.
    """
    tasks = list(Path("/proc/self/task").iterdir())
    texts = [(task / "children").read_text(encoding="ascii") for task in tasks]
    return [int(word) for text in texts for word in text.split()]


def _handles(pid: int, number: int) -> bool:
    # SigCgt is the set of signals that have a handler. Source: proc_pid_status(5)
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        for line in lines.splitlines():
            name, _, value = line.partition(":")
            if name == "SigCgt":
                return bool(int(value, 16) >> (number - 1) & 1)
    return False
