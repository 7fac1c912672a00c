"""The pace: a slow step is forgotten slowly, and one that takes long counts while it does."""

import pytest

from trainer_hooks.pace import STILL_S, Pace


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


def alive_for(counted: Pace, clock: Clock, seconds: int) -> None:
    """Let time pass in a process that runs."""
    for _ in range(seconds):
        clock.now += 1.0
        counted.note_alive()


def test_time_that_the_process_stood_still_is_no_step_when_it_runs_again(clock: Clock) -> None:
    """Or a notice that comes with the first breath would find no time for a save."""
    counted = Pace(clock)
    counted.note_alive()
    clock.step(counted, 1.0)
    counted.begin()
    alive_for(counted, clock, 2)
    clock.now += 3600.0
    assert counted.step_s == 2.0 + STILL_S  # whoever asks first, before anybody has seen it alive
    alive_for(counted, clock, 3)
    assert counted.step_s == pytest.approx(2.0 + STILL_S + 2.0)  # the first second was the rest
    counted.end()
    assert counted.step_s == pytest.approx(9.0)
    clock.step(counted, 0.5)
    assert counted.step_s == pytest.approx(9.0 - 0.02 * 8.5)


def test_long_step_counts_when_the_process_runs_meanwhile(clock: Clock) -> None:
    """An evaluation of ten minutes is a step of ten minutes."""
    counted = Pace(clock)
    counted.note_alive()
    clock.step(counted, 1.0)
    counted.begin()
    alive_for(counted, clock, 600)
    assert counted.step_s == 600.0
