"""The listener and its process: signals, the launcher's death, descriptors, and what is left."""

import os
import resource
import signal
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from torch.distributed import HashStore

from tests.support.flags import put_flag, remove_flag
from tests.support.heard import Heard, listening
from tests.support.leaks import open_descriptors, thread_names
from trainer_hooks.clock import boottime_s, seconds_left
from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import FLAG_NAME
from trainer_hooks.stop import ORPHAN_LIMIT_S, StopListener

pytestmark = pytest.mark.usefixtures("outlived")


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


def left_s(heard: Heard) -> float:
    """Return what the pending notice leaves, at least 0."""
    notice = heard.listener.pending()
    assert notice is not None
    left_s = seconds_left(notice.deadline_s)
    assert left_s is not None
    return left_s


@pytest.mark.usefixtures("events_only")
@pytest.mark.parametrize(("flag_s", "sooner_s"), [(1000.0, 300.0), (100.0, 100.0)])
def test_signal_has_a_deadline_when_its_grace_is_known(
    tmp_path: Path, flag_s: float, sooner_s: float
) -> None:
    """From when it was heard, however often it comes; beside a flag the sooner one counts."""
    with listening(tmp_path, grace_s=300.0) as heard:
        os.kill(os.getpid(), signal.SIGTERM)
        heard.wait_for("SIGTERM")
        assert left_s(heard) == pytest.approx(300, abs=30)
        first = heard.listener.pending()
        os.kill(os.getpid(), signal.SIGUSR1)
        heard.wait_for("SIGTERM", "SIGUSR1+SIGTERM")
        second = heard.listener.pending()
        assert first is not None
        assert second is not None
        assert first.deadline_s == second.deadline_s
        put_flag(tmp_path, notice_id="flag", left_s=flag_s)
        heard.wait_for("SIGTERM", "SIGUSR1+SIGTERM", "flag")
        assert left_s(heard) == pytest.approx(sooner_s, abs=30)


@pytest.mark.usefixtures("events_only")
def test_signal_counts_when_the_flag_is_only_advice(tmp_path: Path) -> None:
    """A stop is a stop."""
    put_flag(tmp_path, notice_id="advice", urgency="advisory")
    with listening(tmp_path) as heard:
        os.kill(os.getpid(), signal.SIGTERM)
        heard.wait_for("advice", "SIGTERM")


@pytest.mark.usefixtures("events_only")
@pytest.mark.parametrize(("grace_s", "limit_s"), [(None, ORPHAN_LIMIT_S), (30.0, 30.0), (0.0, 0.0)])
def test_launchers_death_is_a_stop_when_it_is_heard_through_its_descriptor(
    tmp_path: Path, grace_s: float | None, limit_s: float
) -> None:
    """An orphan must not train on; a flag that says more still counts before it."""
    launcher = subprocess.Popen(["sleep", "60"])
    heard = Heard(tmp_path, launcher=os.pidfd_open(launcher.pid), grace_s=grace_s)
    heard.listener.start()
    began_s = boottime_s()
    launcher.kill()
    launcher.wait()
    heard.wait_for("launcher-gone")
    (gone_by_s,) = heard.gone_by_s
    assert began_s + limit_s <= gone_by_s <= boottime_s() + limit_s
    put_flag(tmp_path, notice_id="flag")
    heard.wait_for("launcher-gone", "flag")
    heard.listener.close()
    assert not [held for held in open_descriptors() if "pidfd" in held]


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
    before = open_descriptors(), thread_names(), signal.getsignal(signal.SIGTERM)
    for _ in range(50):
        with listening(tmp_path) as heard:
            pass
        heard.listener.close()
    assert (open_descriptors(), thread_names(), signal.getsignal(signal.SIGTERM)) == before
