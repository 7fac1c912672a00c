"""What every long-running command needs of its process: the clocks, and word that it is to end."""

import asyncio
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

from watcher.notice import Moment

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def now() -> Moment:
    """Read both clocks."""
    return Moment(datetime.now(UTC), time.clock_gettime(time.CLOCK_BOOTTIME))


def boot_id() -> str:
    """Return this boot's id; blocks for no longer than /proc does.

    Raises:
        OSError: It is hidden, as by ProcSubset=pid under systemd.
    """
    return BOOT_ID.read_text(encoding="ascii").strip()


def stop_event() -> asyncio.Event:
    """Return an event that the first SIGTERM, SIGINT or SIGHUP sets; the next ends the process.

    A SIGHUP that is ignored, as under nohup, stays so.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)

    def on_first() -> None:
        stop.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, on_first)
    return stop
