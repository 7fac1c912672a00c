"""A stop that is not reached: the log says where the training is, and no more than that."""

import logging
import threading
from collections.abc import Iterator

import pytest

from tests.support.leaks import thread_names
from tests.support.waiting import wait_until
from trainer_hooks import overdue
from trainer_hooks.overdue import Overdue


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look after a moment."""
    monkeypatch.setattr(overdue, "PATIENCE_S", 0.02)


class Trainer:
    """A thread that evaluates until it is told to stop."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self._thread = threading.Thread(target=self.evaluate_for_ever)
        self._thread.start()
        self.watched = Overdue(self._thread.ident or 0)

    def evaluate_for_ever(self) -> None:
        """Wait inside a step."""
        assert self.release.wait(30)

    def end(self) -> None:
        """Let the thread end."""
        self.release.set()
        self._thread.join()


@pytest.fixture
def trainer() -> Iterator[Trainer]:
    """Watch one; in the end nobody does any more."""
    before = thread_names()
    trainer = Trainer()
    yield trainer
    trainer.watched.note_reached()
    trainer.end()
    wait_until(lambda: thread_names() == before)


def test_place_is_said_when_the_boundary_does_not_come(
    trainer: Trainer, caplog: pytest.LogCaptureFixture
) -> None:
    """Again and again, ever more rarely; once however often a stop is told."""
    trainer.watched.expect()
    trainer.watched.expect()
    wait_until(lambda: len(caplog.messages) == 3)
    assert all("in evaluate_for_ever" in message for message in caplog.messages)
    assert thread_names().count("reprieve-overdue") == 1
    trainer.end()
    wait_until(lambda: "(gone)" in caplog.messages[-1])


def test_nothing_is_said_when_the_boundary_has_come(
    trainer: Trainer, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor when nobody waits for it."""
    trainer.watched.note_alive()
    trainer.watched.note_reached()
    trainer.watched.expect()
    trainer.watched.note_reached()
    wait_until(lambda: "reprieve-overdue" not in thread_names())
    assert caplog.messages == []


def test_nothing_is_said_when_the_training_says_that_it_is_alive(
    trainer: Trainer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time puts it off."""
    monkeypatch.setattr(overdue, "PATIENCE_S", 30.0)
    caplog.set_level(logging.WARNING)
    trainer.watched.expect()
    for _ in range(100):
        trainer.watched.note_alive()
    trainer.watched.note_reached()
    wait_until(lambda: "reprieve-overdue" not in thread_names())
    assert caplog.messages == []
