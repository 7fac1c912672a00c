"""Notifications to the service manager."""

import socket
from pathlib import Path

import pytest

from watcher.sdnotify import notify


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
