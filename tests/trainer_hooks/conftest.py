"""What the tests of the trainer's side share."""

import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.golden_flag import Clocks, Flag
from tests.support.heard import Heard, listening
from tests.support.launching import children as children_of
from tests.support.node import Node
from tests.support.processes import Children
from trainer_hooks import flag, stop
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.layout import Attempt
from trainer_hooks.results import RESULT_DIR_VARIABLE
from trainer_hooks.signals import ENDING_SIGNALS

# A busy machine is no failure: examples are judged by what they show, not by how long they take.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """Start an attempt in the test's directory."""
    return start_attempt(tmp_path)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """Read flags on clocks that the test sets."""
    clocks = Clocks()
    monkeypatch.setattr(flag, "boottime_s", lambda: clocks.boottime)
    monkeypatch.setattr(flag, "boot_id", lambda: clocks.boot_id)
    monkeypatch.setattr(time, "time", lambda: clocks.wall)
    return clocks


@pytest.fixture
def golden(tmp_path: Path, clocks: Clocks) -> Flag:  # noqa: ARG001 - read on those clocks
    """Return the golden file, in force there."""
    return Flag(tmp_path / "notice.json")


@pytest.fixture
def outlived() -> Iterator[None]:
    """Outlive a stop signal that nobody takes."""
    before = {n: signal.signal(n, lambda *_: None) for n in ENDING_SIGNALS}
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
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(stop, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(stop, "INotify", taken)


@pytest.fixture(params=["events_only", "looks_only"])
def heard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Heard]:
    """Listen with events and, as on a node whose inotify instances are taken, without."""
    request.getfixturevalue(request.param)
    with listening(tmp_path) as heard:
        yield heard


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Make a node, and outlive what its trainers do to the stop signals."""
    before = {n: signal.signal(n, lambda *_: None) for n in ENDING_SIGNALS}
    node = Node(tmp_path)
    monkeypatch.setenv("REPRIEVE_RUN_DIR", str(node.run_dir))
    monkeypatch.setenv(RESULT_DIR_VARIABLE, str(node.results))
    yield node
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def children() -> Children:
    """Count this process's children, but for the servers that all tests share."""
    own = os.getpid()
    before = set(children_of(own))
    return lambda: set(children_of(own)) - before
