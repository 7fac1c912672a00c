"""Tells the service manager how the daemon is doing, over systemd's notification socket.

Source: sd_notify(3), sd_watchdog_enabled(3), systemd 252 (read 2026-11-30).
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping

_BEATS = 4
"""Signs of life in each span of the watchdog's: one that comes late, or is lost, is not missed."""


def notify(state: str) -> None:
    """Send ``state``, such as ``READY=1``; do nothing where no service manager listens.

    Never blocks and never fails: a deaf service manager is no reason to lose a notice.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):
        address = "\0" + address[1:]  # a leading zero byte is Linux's abstract namespace
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel,
    ):
        channel.settimeout(0)
        channel.connect(address)
        channel.send(state.encode())


def watchdog_s(environment: Mapping[str, str], pid: int) -> float | None:
    """Return within how many seconds the service manager wants a sign of life; None for never."""
    if environment.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None  # it is asked of the process that has started us
    microseconds = environment.get("WATCHDOG_USEC", "")
    if not (microseconds.isascii() and microseconds.isdecimal()):
        return None
    return int(microseconds) / 1e6 or None


async def keep_alive() -> None:
    """Give signs of life for as long as the loop turns, if the service manager wants any.

    They come from the loop that hears notices and acts on them: one that hangs is as deaf as a
    process that has ended, and only the service manager can tell.
    """
    limit_s = watchdog_s(os.environ, os.getpid())
    while limit_s is not None:
        notify("WATCHDOG=1")
        await asyncio.sleep(limit_s / _BEATS)
