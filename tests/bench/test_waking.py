"""How much slower a core is after a pause."""

import time

import pytest
from lab import waking


def test_slowdown_is_that_of_the_computation_when_cores_are_slow_to_wake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing else counts."""
    spent_s = [0.001]

    def rest(_seconds: float) -> None:
        spent_s[0] = 0.005

    monkeypatch.setattr(time, "sleep", rest)
    monkeypatch.setattr(waking, "_computation_s", lambda: spent_s[0])
    assert waking.slower_after_a_pause() == 5.0
    monkeypatch.undo()
    assert waking._computation_s() > 0
