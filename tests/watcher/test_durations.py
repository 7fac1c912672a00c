"""Durations in words."""

import pytest

from watcher.durations import lasting


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3.0, "0.0 s"),
        (0.44, "0.4 s"),
        (10.9, "10 s"),
        (59.9, "59 s"),
        (112.0, "1 min 52 s"),
        (3600.0, "1 h 0 min"),
        (86_399.0, "23 h 59 min"),
        (90_000.0, "1 d 1 h"),
    ],
)
def test_duration_is_in_two_units_at_most(seconds: float, words: str) -> None:
    """Nobody counts seconds of a day."""
    assert lasting(seconds) == words
