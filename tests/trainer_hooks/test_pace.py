"""The pace: a slow step is forgotten slowly, and one that takes long counts while it does."""

import pytest

from trainer_hooks.pace import Pace


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def step(self, counted: Pace, seconds: float) -> None:
        """Let a step take some seconds."""
        counted.begin()
        self.now += seconds
        counted.end()


@pytest.fixture
def clock() -> Clock:
    """Make a clock."""
    return Clock()


def test_step_time_is_unknown_when_none_has_ended(clock: Clock) -> None:
    """Nor is it guessed."""
    counted = Pace(clock)
    assert counted.step_s is None
    counted.begin()
    clock.now += 5
    assert counted.step_s is None
    counted.end()
    assert counted.step_s == 5


def test_slow_step_is_forgotten_when_fast_ones_follow(clock: Clock) -> None:
    """An eighth of it is left after 100 steps; what comes between steps does not count."""
    counted = Pace(clock)
    clock.step(counted, 60.0)
    for _ in range(100):
        clock.now += 1000.0
        clock.step(counted, 0.0)
    assert counted.step_s == pytest.approx(60 / 8, rel=0.1)
    clock.step(counted, 9.0)
    assert counted.step_s == 9.0


def test_step_counts_when_it_takes_longer_than_any_before(clock: Clock) -> None:
    """An evaluation that is under way."""
    counted = Pace(clock)
    clock.step(counted, 1.0)
    counted.begin()
    assert counted.step_s == 1.0
    clock.now += 20.0
    assert counted.step_s == 20.0
