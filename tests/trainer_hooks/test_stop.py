"""The listener: whatever tells it and whenever, the most urgent notice is pending at once."""

import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from torch.distributed import HashStore

from tests.support.flags import put_flag, remove_flag
from tests.support.leaks import open_descriptors, thread_names
from tests.support.waiting import wait_until
from trainer_hooks import stop
from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import FLAG_NAME, OVERDUE_S
from trainer_hooks.signals import STOP_SIGNALS
from trainer_hooks.stop import UNREADABLE_FLAG_ID, StopListener


class Heard:
    """A listener that is running, and what it has told whoever asked."""

    def __init__(self, run_dir: Path) -> None:
        self.listener = StopListener(self._note, flag_path=run_dir / FLAG_NAME)
        self.ids: list[str | None] = []
        """The id of the pending notice at each news; None when it was withdrawn."""

    def _note(self) -> None:
        notice = self.listener.pending()
        self.ids.append(None if notice is None else notice.id)

    def wait_for(self, *ids: str | None) -> None:
        """Wait until the news so far are exactly these."""
        wait_until(lambda: len(self.ids) >= len(ids))
        assert self.ids == list(ids)


@contextmanager
def listening(run_dir: Path) -> Iterator[Heard]:
    """Listen in this process."""
    heard = Heard(run_dir)
    heard.listener.start()
    yield heard
    heard.listener.close()


@pytest.fixture(autouse=True)
def outlived() -> Iterator[None]:
    """Outlive a signal that the listener fails to take."""
    before = {n: signal.signal(n, lambda *_: None) for n in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def events_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it look by itself so rarely that only an event can have told it."""
    monkeypatch.setattr(stop, "LOOK_EVERY_S", 60.0)


@pytest.fixture
def looks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it look often, and get no event."""

    def taken() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(stop, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(stop, "INotify", taken)


@pytest.fixture(params=["events_only", "looks_only"])
def heard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Heard]:
    """Listen with events and, as on a node whose inotify instances are taken, without."""
    request.getfixturevalue(request.param)
    with listening(tmp_path) as heard:
        yield heard


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_signal_is_a_stop_without_a_deadline_when_there_is_no_flag(
    heard: Heard, number: signal.Signals
) -> None:
    """The kubelet, Slurm and systemd say no more than that."""
    os.kill(os.getpid(), number)
    heard.wait_for(number.name)
    notice = heard.listener.pending()
    assert notice is not None
    assert (notice.is_stop, notice.deadline_s, notice.source) == (True, None, "signal")


@pytest.mark.usefixtures("events_only")
def test_signal_is_news_when_the_main_thread_sits_in_a_collective(tmp_path: Path) -> None:
    """Whoever is told can act while the main thread is still in C++."""
    store = HashStore()
    listener = StopListener(lambda: store.set("told", "1"), flag_path=tmp_path / FLAG_NAME)
    listener.start()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    store.wait(["told"], timedelta(seconds=30))
    listener.close()


@pytest.mark.usefixtures("events_only")
def test_flag_counts_when_signal_and_flag_come_together(tmp_path: Path) -> None:
    """It knows a deadline; and the signal stays in force when the flag is withdrawn."""
    with listening(tmp_path) as heard:
        os.kill(os.getpid(), signal.SIGTERM)
        heard.wait_for("SIGTERM")
        put_flag(tmp_path, notice_id="flag")
        heard.wait_for("SIGTERM", "flag")
        os.kill(os.getpid(), signal.SIGUSR1)
        remove_flag(tmp_path)
        heard.wait_for("SIGTERM", "flag", "SIGUSR1+SIGTERM")


@pytest.mark.usefixtures("events_only")
def test_signal_counts_when_the_flag_is_only_advice(tmp_path: Path) -> None:
    """A stop is a stop."""
    put_flag(tmp_path, notice_id="advice", urgency="advisory")
    with listening(tmp_path) as heard:
        os.kill(os.getpid(), signal.SIGTERM)
        heard.wait_for("advice", "SIGTERM")


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
        heard.wait_for(UNREADABLE_FLAG_ID, "mended")
    said = [r for r in caplog.records if "taken as a stop" in r.message]
    assert len(said) == 1


@pytest.mark.usefixtures("looks_only")
def test_listener_lives_when_a_directory_has_the_flags_name(tmp_path: Path) -> None:
    """It is no flag to be understood, and what follows it is heard."""
    (tmp_path / FLAG_NAME).mkdir()
    with listening(tmp_path) as heard:
        (tmp_path / FLAG_NAME).rmdir()
        heard.wait_for(UNREADABLE_FLAG_ID, None)


def test_notice_is_not_pending_when_it_is_long_overdue(tmp_path: Path) -> None:
    """A node that outlived it by ten minutes goes on."""
    put_flag(tmp_path, left_s=-OVERDUE_S - 5)
    with listening(tmp_path) as heard:
        assert heard.listener.pending() is None
    assert heard.ids == []


@pytest.mark.usefixtures("events_only")
def test_listener_hears_when_the_process_holds_a_thousand_descriptors(tmp_path: Path) -> None:
    """select() would refuse them: the rank that hosts a Store of hundreds would be deaf."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1200:
        pytest.skip(f"the system allows only {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        with listening(tmp_path) as heard:
            put_flag(tmp_path, notice_id="high")
            heard.wait_for("high")
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_start_is_refused_when_it_is_called_from_another_thread(tmp_path: Path) -> None:
    """A ConfigError, and closing what never started is harmless."""
    heard, errors = Heard(tmp_path), list[Exception]()

    def start() -> None:
        try:
            heard.listener.start()
        except ConfigError as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    heard.listener.close()
    assert len(errors) == 1


@pytest.mark.usefixtures("events_only")
def test_nothing_is_left_when_it_was_started_and_closed_often(tmp_path: Path) -> None:
    """No thread, no descriptor, the handlers as they were, and closing twice is harmless."""
    before = open_descriptors(), signal.getsignal(signal.SIGTERM)
    for _ in range(50):
        with listening(tmp_path) as heard:
            pass
        heard.listener.close()
    assert (open_descriptors(), signal.getsignal(signal.SIGTERM)) == before
    assert thread_names() == []
