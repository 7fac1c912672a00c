"""What the tests of the trainer's side share."""

import time
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.golden_flag import Clocks, Flag
from trainer_hooks import flag

# A busy machine is no failure: examples are judged by what they show, not by how long they take.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


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
