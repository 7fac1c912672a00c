"""What forbids a start, by the flag file and by the watcher's own word."""

from pathlib import Path

import pytest

from tests.support.flags import put_flag
from tests.support.odd_server import answering, odd_server
from tests.support.telling_watcher import telling_watcher
from trainer_hooks.clock import boot_id
from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import OVERDUE_S, UNREADABLE
from trainer_hooks.launch.in_force import stop_in_force
from trainer_hooks.notice_url import VARIABLE

HERE = boot_id() or ""


@pytest.fixture(autouse=True)
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Look for flags in the test's own directory."""
    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(tmp_path))
    return tmp_path


def stop() -> str | None:
    """Return the id of what forbids a start."""
    notice = stop_in_force()
    return None if notice is None else notice.id


def test_start_is_forbidden_when_the_watcher_tells_of_a_stop(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Advice, a notice long past, and none forbid nothing; a flag file forbids by itself."""
    with telling_watcher(HERE) as watcher:
        monkeypatch.setenv(VARIABLE, watcher.url)
        assert stop() is None
        watcher.admit("advice", is_stop=False)
        assert stop() is None
        watcher.admit("spot")
        assert stop() == "spot"
        watcher.retire("spot")
        watcher.admit("past", left_s=-OVERDUE_S - 60)
        assert stop() is None
        put_flag(run_dir, notice_id="flag")
        assert stop() == "flag"


def test_start_is_allowed_when_nobody_answers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken watcher keeps nobody from training; the ranks ask it further."""
    with odd_server() as server:
        monkeypatch.setenv(VARIABLE, server.url)
        server.react = answering(b"unknown\n", "503 Service Unavailable")
        assert stop() is None
    assert "without knowing whether a notice is in force" in caplog.text


def test_start_is_forbidden_when_the_watchers_notice_can_not_be_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That there is one is said."""
    with odd_server() as server:
        monkeypatch.setenv(VARIABLE, server.url)
        server.react = answering(b'{"schema": 2, "notice": {"schema": 2}}')
        assert stop() == UNREADABLE.id


def test_start_is_refused_when_the_url_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set-up that is wrong, and no preemption."""
    monkeypatch.setenv(VARIABLE, "nowhere")
    with pytest.raises(ConfigError, match=VARIABLE):
        stop_in_force()
