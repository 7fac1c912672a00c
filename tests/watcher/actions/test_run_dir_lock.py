"""The run directory's lock: one daemon has it, the next one waits for its end."""

import errno
import fcntl
import os
import threading
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from watcher.actions.run_dir_lock import held_alone
from watcher.errors import ConfigError


def test_second_one_waits_when_the_first_has_the_directory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so, and goes on when the first one has ended."""
    order = []

    def second() -> None:
        with held_alone(tmp_path):
            order.append("second")

    thread = threading.Thread(target=second)
    with held_alone(tmp_path):
        thread.start()
        wait_until(lambda: "another watcher uses it" in caplog.text)
        order.append("first")
    thread.join(20)
    assert order == ["first", "second"]


def test_directory_is_held_again_when_an_earlier_block_has_ended(tmp_path: Path) -> None:
    """No descriptor is left, and nothing in the directory."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with held_alone(tmp_path):
            assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_directory_is_refused_when_it_is_missing_or_a_file(tmp_path: Path) -> None:
    """At start this is a setting to mend, with the path in the message."""
    (tmp_path / "file").touch()
    for wrong in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(ConfigError, match=f"{wrong}.*--run-dir"), held_alone(wrong):
            pytest.fail("there is nothing to hold")


def test_daemon_goes_on_when_the_file_system_has_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A node without a watcher would be worse than one with two."""

    def flock(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with held_alone(tmp_path):
        assert "not locked" in caplog.text
