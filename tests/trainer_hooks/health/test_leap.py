"""Leaps of a loss: seen at once, once, and never in noise."""

import math
import random

import pytest

from trainer_hooks.health.leap import WARM, Leaps

STEPS = 10_000


def told(values: list[float]) -> list[tuple[int, str]]:
    """Return what is said of the values, with their numbers."""
    leaps = Leaps()
    return [
        (number, wrong)
        for number, value in enumerate(values)
        if (wrong := leaps.look(value)) is not None
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [0.0, 0.02, 0.5])
def test_nothing_is_said_when_a_loss_falls_and_is_noisy(seed: int, spread: float) -> None:
    """From 10 to 2 in 10,000 steps, with a lognormal noise of that spread."""
    print(f"seed={seed}")  # noqa: T201 - to play it again
    rng = random.Random(seed)  # noqa: S311 - noise, not a secret
    values = [
        (2.0 + 8.0 * math.exp(-step / 500)) * rng.lognormvariate(0.0, spread)
        for step in range(STEPS)
    ]
    assert told(values) == []


@pytest.mark.parametrize("usual", [2.5, 1e-4, -2.5, 1e6])
def test_leap_is_told_at_once_and_once_when_a_value_leaves_the_others(usual: float) -> None:
    """A loss of any size and sign; and once more when it comes again."""
    far = usual + 5 * abs(usual)
    values = [usual * (1 + 0.01 * (step % 3)) for step in range(300)]
    values[200:203] = [far] * 3
    values[250] = far
    assert [number for number, _ in told(values)] == [200, 250]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_value_that_is_no_number_is_told_when_it_is_the_first(value: float) -> None:
    """Without any to hold it against, and once."""
    assert [number for number, _ in told([value, value, 2.0, 2.0, value])] == [0, 4]


def test_nothing_is_said_when_a_loss_drops() -> None:
    """That is what it is for."""
    assert told([3.0] * 200 + [0.1] * 200) == []


def test_nothing_is_said_when_there_are_too_few_values_yet() -> None:
    """The first losses may be anything."""
    assert told([10.0 ** (step % 5) for step in range(WARM)]) == []


def test_new_level_is_told_once_when_it_stays() -> None:
    """It becomes the usual one."""
    assert len(told([1.0] * 200 + [9.0] * 400)) == 1


def test_values_away_are_counted_when_they_follow_each_other() -> None:
    """No number is away as well."""
    leaps = Leaps()
    away = []
    for value in [1.0] * WARM + [9.0, math.nan, 9.0, 1.0, 9.0]:
        leaps.look(value)
        away.append(leaps.away)
    assert away == [0] * WARM + [1, 2, 3, 0, 1]
