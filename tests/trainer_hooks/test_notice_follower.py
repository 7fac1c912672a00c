"""The listener with a watcher that is followed over HTTP, beside the flag file and signals."""

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.flags import put_flag, remove_flag
from tests.support.heard import Heard, listening
from tests.support.leaks import thread_names
from tests.support.odd_server import (
    OddServer,
    Reaction,
    answering,
    holding,
    odd_server,
    resetting,
    sending,
    trickling,
)
from tests.support.telling_watcher import TellingWatcher, telling_watcher
from tests.support.waiting import wait_until
from trainer_hooks import notice_follower
from trainer_hooks.clock import boot_id, boottime_s
from trainer_hooks.errors import ConfigError
from trainer_hooks.flag import UNREADABLE
from trainer_hooks.notice_url import VARIABLE
from trainer_hooks.stop import StopListener

pytestmark = pytest.mark.usefixtures("outlived", "events_only", "quick")

HERE = boot_id() or ""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose no time between attempts."""
    for name in ("FIRST_PAUSE_S", "LONGEST_PAUSE_S", "EARLY_PAUSE_S", "NEWS_PAUSE_S"):
        monkeypatch.setattr(notice_follower, name, 0.02)


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[TellingWatcher]:
    """A watcher that the environment names."""
    with telling_watcher(HERE) as watcher:
        monkeypatch.setenv(VARIABLE, watcher.url)
        yield watcher


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OddServer]:
    """Something else that the environment names."""
    with odd_server() as server:
        monkeypatch.setenv(VARIABLE, server.url)
        yield server


@pytest.fixture
def heard(watcher: TellingWatcher, tmp_path: Path) -> Iterator[Heard]:
    """Listen, and have the watcher followed."""
    with listening(tmp_path) as heard:
        wait_until(lambda: watcher.waiting == 1)
        yield heard


def test_news_come_one_by_one_when_notices_come_in_force_and_are_withdrawn(
    heard: Heard, watcher: TellingWatcher
) -> None:
    """There is no flag file, and nobody waits for a look: the watcher answers who waits."""
    watcher.admit("advice", is_stop=False)
    heard.wait_for("advice")
    watcher.admit("spot", left_s=90)
    heard.wait_for("advice", "spot")
    notice = heard.listener.pending()
    assert notice is not None
    assert notice.is_stop
    assert notice.deadline_s == pytest.approx(boottime_s() + 90, abs=20)
    watcher.retire("spot")
    heard.wait_for("advice", "spot", "advice")
    watcher.retire("advice")
    heard.wait_for("advice", "spot", "advice", None)


def test_notice_is_heard_when_it_was_in_force_before_the_start(
    watcher: TellingWatcher, tmp_path: Path
) -> None:
    """The first question is answered at once."""
    watcher.admit("early")
    with listening(tmp_path) as heard:
        heard.wait_for("early")


def test_either_is_enough_when_a_flag_file_is_there_too(
    heard: Heard, watcher: TellingWatcher, tmp_path: Path
) -> None:
    """A stop stays until both say that it is over, and the earlier deadline counts."""
    put_flag(tmp_path, notice_id="spot", left_s=100)
    heard.wait_for("spot")
    watcher.admit("spot", left_s=40)
    heard.wait_for("spot", "spot")
    notice = heard.listener.pending()
    assert notice is not None
    assert notice.deadline_s == pytest.approx(boottime_s() + 40, abs=20)
    remove_flag(tmp_path)
    watcher.retire("spot")
    heard.wait_for("spot", "spot", None)


def test_stop_counts_when_the_other_only_advises(
    heard: Heard, watcher: TellingWatcher, tmp_path: Path
) -> None:
    """Whichever of the two says it."""
    put_flag(tmp_path, notice_id="advice", urgency="advisory", left_s=10)
    heard.wait_for("advice")
    watcher.admit("spot")
    heard.wait_for("advice", "spot")
    put_flag(tmp_path, notice_id="sooner", left_s=20)
    heard.wait_for("advice", "spot", "sooner")


def test_notice_stands_when_the_watcher_is_killed_and_comes_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Silence takes nothing back; it is said once, and what the next one says counts."""
    caplog.set_level("INFO")
    with telling_watcher(HERE) as first:
        monkeypatch.setenv(VARIABLE, first.url)
        first.admit("spot")
        with listening(tmp_path) as heard:
            heard.wait_for("spot")
            first.stop()
            follower = heard.listener._follower
            assert follower is not None
            wait_until(lambda: follower.failures > 3)
            assert heard.ids == ["spot"]
            with telling_watcher(HERE, first.port):
                heard.wait_for("spot", None)
    said = [record.message for record in caplog.records if "notice_follower" in record.name]
    assert "what was said last still stands" in said[0]
    assert "answers again after" in said[1]
    assert len(said) == 2


@pytest.mark.parametrize(
    "reaction",
    [
        holding,
        trickling,
        resetting,
        sending(b"nonsense"),
        answering(b"x" * 200_000),
        answering(b"<html>"),
        answering(b"unknown\n", "503 Service Unavailable"),
    ],
    ids=["hang", "trickle", "reset", "nonsense", "huge", "page", "503"],
)
def test_flag_and_signal_are_heard_when_what_is_asked_is_no_watcher(
    server: OddServer, tmp_path: Path, reaction: Reaction
) -> None:
    """Whatever it does with its connection, it makes no notice and delays none."""
    server.react = reaction
    before = thread_names()
    with listening(tmp_path) as heard:
        wait_until(lambda: server.requests)
        assert heard.ids == []
        put_flag(tmp_path, notice_id="flag")
        heard.wait_for("flag")
        remove_flag(tmp_path)
        heard.wait_for("flag", None)
        os.kill(os.getpid(), signal.SIGTERM)
        heard.wait_for("flag", None, "SIGTERM")
    assert thread_names() == before


def test_notice_is_a_stop_when_it_can_not_be_understood(
    server: OddServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Said once, and over when the watcher says that nothing is in force."""
    server.react = answering(b'{"schema": 1, "seq": 1, "notice": {"schema": 9}}')
    with listening(tmp_path) as heard:
        heard.wait_for(UNREADABLE.id)
        wait_until(lambda: len(server.requests) > 3)
        server.react = answering(b'{"schema": 1, "seq": 2, "notice": null}')
        heard.wait_for(UNREADABLE.id, None)
    assert caplog.text.count("taken as a stop with unknown deadline") == 1


def test_trainings_random_numbers_are_the_same_when_a_watcher_is_followed(
    server: OddServer, tmp_path: Path
) -> None:
    """The pauses between attempts draw none of them."""
    random.seed(7)
    expected = random.random()  # noqa: S311 - what is tested
    random.seed(7)
    with listening(tmp_path):
        wait_until(lambda: len(server.requests) > 3)
    assert random.random() == expected  # noqa: S311 - what is tested


def test_listener_says_nothing_of_a_missing_run_directory_when_a_watcher_is_followed(
    watcher: TellingWatcher, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A pod that may mount none is as it should be."""
    with listening(tmp_path / "missing"):
        wait_until(lambda: watcher.waiting == 1)
    assert caplog.text == ""


def test_listener_is_refused_when_the_url_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is trained."""
    monkeypatch.setenv(VARIABLE, "10.0.0.1:9766")
    with pytest.raises(ConfigError, match=VARIABLE):
        StopListener(lambda: None)
