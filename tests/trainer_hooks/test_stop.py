"""The listener: a flag is heard by event and by look, and the most urgent notice is pending."""

import errno
import threading
from pathlib import Path

import pytest

from tests.support.flags import put_flag, remove_flag
from tests.support.heard import Heard, listening
from tests.support.leaks import open_descriptors
from tests.support.waiting import wait_until
from trainer_hooks import stop
from trainer_hooks.flag import FLAG_NAME, OVERDUE_S, UNREADABLE


def test_notice_is_pending_when_its_flag_was_there_before_the_start(tmp_path: Path) -> None:
    """Known before start() returns, so that nothing is restored in vain."""
    put_flag(tmp_path, notice_id="early")
    heard = Heard(tmp_path)
    heard.listener.start()
    assert heard.ids == ["early"]
    heard.listener.close()
    assert heard.ids == ["early"]


def test_news_come_one_by_one_when_the_flag_is_put_replaced_and_withdrawn(
    heard: Heard, tmp_path: Path
) -> None:
    """A rename over the file is news, the same notice written again is none."""
    put_flag(tmp_path, notice_id="first")
    heard.wait_for("first")
    again = tmp_path / "again"
    again.write_bytes((tmp_path / FLAG_NAME).read_bytes())
    again.rename(tmp_path / FLAG_NAME)
    put_flag(tmp_path, notice_id="second")
    heard.wait_for("first", "second")
    remove_flag(tmp_path)
    heard.wait_for("first", "second", None)
    put_flag(tmp_path, notice_id="first")
    heard.wait_for("first", "second", None, "first")


def test_deadline_is_news_when_it_moves(heard: Heard, tmp_path: Path) -> None:
    """Under the same id."""
    put_flag(tmp_path, notice_id="moving", left_s=100)
    heard.wait_for("moving")
    put_flag(tmp_path, notice_id="moving", left_s=40)
    heard.wait_for("moving", "moving")


def test_stop_is_news_when_it_follows_advice(heard: Heard, tmp_path: Path) -> None:
    """Under the same id, too."""
    put_flag(tmp_path, notice_id="rebalance", urgency="advisory")
    heard.wait_for("rebalance")
    assert not heard.listener.pending().is_stop  # type: ignore[union-attr]  # just waited for
    put_flag(tmp_path, notice_id="rebalance")
    heard.wait_for("rebalance", "rebalance")
    assert heard.listener.pending().is_stop  # type: ignore[union-attr]  # likewise


@pytest.mark.usefixtures("looks_only")
def test_flag_is_found_when_the_run_directory_comes_later(tmp_path: Path) -> None:
    """The watcher may start after the training."""
    with listening(tmp_path / "run") as heard:
        put_flag(tmp_path / "run", notice_id="late")
        heard.wait_for("late")


def test_events_are_asked_for_when_the_run_directory_comes_later(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once it is there, nobody waits for the next look any more."""
    monkeypatch.setattr(stop, "LOOK_EVERY_S", 0.02)
    with listening(tmp_path / "run") as heard:
        (tmp_path / "run").mkdir()
        wait_until(lambda: any("inotify" in held for held in open_descriptors()))
        monkeypatch.setattr(stop, "LOOK_EVERY_S", 60.0)
        threading.Event().wait(0.05)  # the last of the short waits
        put_flag(tmp_path / "run", notice_id="late")
        heard.wait_for("late")


@pytest.mark.usefixtures("looks_only")
def test_unreadable_flag_is_a_stop_when_it_cannot_be_understood(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Said once, however often it is looked at, and over when the flag is mended."""
    (tmp_path / FLAG_NAME).write_text("{")
    with listening(tmp_path) as heard:
        notice = heard.listener.pending()
        assert notice is not None
        assert (notice.is_stop, notice.deadline_s) == (True, None)
        put_flag(tmp_path, notice_id="mended")
        heard.wait_for(UNREADABLE.id, "mended")
    said = [r for r in caplog.records if "taken as a stop" in r.message]
    assert len(said) == 1


@pytest.mark.usefixtures("looks_only")
def test_listener_lives_when_a_directory_has_the_flags_name(tmp_path: Path) -> None:
    """It is no flag to be understood, and what follows it is heard."""
    (tmp_path / FLAG_NAME).mkdir()
    with listening(tmp_path) as heard:
        (tmp_path / FLAG_NAME).rmdir()
        heard.wait_for(UNREADABLE.id, None)


@pytest.mark.usefixtures("looks_only")
def test_notice_stays_when_the_process_is_out_of_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Our own trouble neither makes a notice nor ends one."""

    def out_of_descriptors(_: Path) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    put_flag(tmp_path, notice_id="kept")
    with listening(tmp_path) as heard:
        with monkeypatch.context() as patch:
            patch.setattr(stop, "read_flag", out_of_descriptors)
            wait_until(lambda: "flag file not looked at" in caplog.text)
        remove_flag(tmp_path)
        heard.wait_for("kept", None)


def test_notice_is_not_pending_when_it_is_long_overdue(tmp_path: Path) -> None:
    """A node that outlived it by ten minutes goes on."""
    put_flag(tmp_path, left_s=-OVERDUE_S - 5)
    with listening(tmp_path) as heard:
        assert heard.listener.pending() is None
    assert heard.ids == []
