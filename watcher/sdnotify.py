"""Tells the service manager how the daemon is doing, over systemd's notification socket.

Source: sd_notify(3), systemd 252 (read 2026-11-30).
"""

import contextlib
import os
import socket


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
