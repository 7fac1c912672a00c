"""What forbids a start, by the flag file and by the watcher's own word."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.flags import put_flag, remove_flag
from tests.support.odd_server import answering, odd_server
from tests.support.telling_watcher import telling_watcher
from trainer_hooks.clock import boot_id
from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import OVERDUE_S, UNREADABLE
from trainer_hooks.launch.in_force import stop_in_force, wait_while_in_force
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


class Pauses:
    """Stands in for the pause between two looks: in each, the next thing happens."""

    def __init__(self, *happens: Callable[[], object]) -> None:
        self.left = list(happens)

    def __call__(self, _: float) -> None:
        self.left.pop(0)()


def test_wait_is_over_when_the_notice_is_withdrawn(
    run_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another notice and a damaged flag keep it waiting, and each is said once."""
    caplog.set_level("INFO")
    put_flag(run_dir, notice_id="first")
    damaged = run_dir / "notice.json"
    happens = [
        lambda: None,
        lambda: put_flag(run_dir, notice_id="second"),
        lambda: damaged.write_text("{"),
        lambda: None,
        lambda: remove_flag(run_dir),
    ]
    wait_while_in_force(Pauses(*happens))
    said = [record.getMessage().split(" is in force")[0] for record in caplog.records]
    assert [one for one in said if one.startswith("stop notice")] == [
        *("stop notice first", "stop notice second", f"stop notice {UNREADABLE.id}"),
        f"stop notice {UNREADABLE.id} holds nobody back any more",
    ]
    assert sum("flag file taken as a stop" in one for one in said) == 1


@pytest.mark.parametrize(("urgency", "left_s"), [("advisory", 60), ("stop", -OVERDUE_S - 60)])
def test_nobody_waits_when_no_notice_forbids_a_start(
    run_dir: Path, urgency: str, left_s: float
) -> None:
    """Advice, and a notice whose node was not taken: there is no pause at all."""
    wait_while_in_force(Pauses())
    put_flag(run_dir, urgency=urgency, left_s=left_s)
    wait_while_in_force(Pauses())


def test_wait_goes_on_when_the_watcher_that_told_of_the_notice_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unknown is not withdrawn: only its own word ends it."""
    with odd_server() as server, telling_watcher(HERE) as watcher:
        watcher.admit("spot")
        monkeypatch.setenv(VARIABLE, watcher.url)
        server.react = answering(b"unknown\n", "503 Service Unavailable")
        pause = Pauses(
            lambda: monkeypatch.setenv(VARIABLE, server.url),
            lambda: None,
            lambda: monkeypatch.setenv(VARIABLE, watcher.url),
            lambda: watcher.retire("spot"),
        )
        wait_while_in_force(pause)
    assert pause.left == []
