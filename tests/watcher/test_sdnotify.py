"""Notifications to the service manager."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from watcher.sdnotify import keep_alive, notify, watchdog_s


@pytest.mark.parametrize("is_abstract", [False, True])
def test_state_is_sent_when_a_service_manager_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_abstract: bool
) -> None:
    """Both kinds of socket that systemd hands out are understood."""
    name = f"@{tmp_path}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if is_abstract else name)
        manager.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        notify("READY=1")
        assert manager.recv(100) == b"READY=1"


@pytest.mark.parametrize("address", [None, "", "/nonexistent/socket", "vsock:2:1234"])
def test_nothing_fails_when_nobody_listens(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    """A daemon outside systemd, or under a deaf one, works all the same."""
    if address is None:
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    else:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify("READY=1")


def test_nothing_blocks_when_the_manager_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full socket loses the notification and not the daemon's time."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        for _ in range(5000):
            notify("WATCHDOG=1")
        manager.settimeout(10)
        assert manager.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize(
    ("environment", "limit_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "20000000"}, 20.0),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "7"}, 20.0),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_watchdog_is_heeded_when_it_is_ours(
    environment: dict[str, str], limit_s: float | None
) -> None:
    """A child of the daemon's inherits the variables, and is not meant."""
    assert watchdog_s(environment, 7) == limit_s


async def test_signs_of_life_come_for_as_long_as_the_loop_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one but many, and none where nobody wants any."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)  # noqa: FBT003 - the socket's own signature
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.delenv("WATCHDOG_USEC", raising=False)
        await keep_alive()
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
        living = asyncio.create_task(keep_alive())
        loop = asyncio.get_running_loop()
        beats = [await loop.sock_recv(manager, 100) for _ in range(3)]
        living.cancel()
    assert beats == [b"WATCHDOG=1"] * 3
