"""What a user may say of save_every."""

import math

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.auto import ASSUMED_MTBI_S, AutoInterval, parse_save_every


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (7, 7),
        ("auto", AutoInterval()),
        ("5%", AutoInterval(overhead=0.05)),
        ("2.5 %", AutoInterval(overhead=0.025)),
        (AutoInterval(bytes_per_s=1e9), AutoInterval(bytes_per_s=1e9)),
    ],
)
def test_cadence_is_understood_when_it_is_said_in_short(
    said: int | str | AutoInterval, meant: int | AutoInterval
) -> None:
    """A number of steps, a word, a share of the time, or all of it."""
    assert parse_save_every(said) == meant


@pytest.mark.parametrize("said", [0, -3, "", "often", "5", "-1%", "100%", "0%", "nan%", None, 2.5])
def test_cadence_is_refused_when_it_is_none(said: object) -> None:
    """With what it may be."""
    with pytest.raises(ConfigError, match=r"save_every|overhead"):
        parse_save_every(said)  # type: ignore[arg-type]  # a program without types may say it


@pytest.mark.parametrize(
    "wrong",
    [
        {"overhead": 1.0},
        {"overhead": math.nan},
        {"bytes_per_s": 0.0},
        {"prior_mtbi_s": math.inf},
        {"first_steps": 0},
    ],
)
def test_rules_are_refused_when_they_make_no_sense(wrong: dict[str, float]) -> None:
    """By name."""
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))} "):
        AutoInterval(**wrong)  # type: ignore[arg-type]  # whole numbers are floats here


def test_an_hour_is_assumed_when_nothing_is_known_of_the_pool() -> None:
    """As the page says."""
    assert AutoInterval().prior_mtbi_s == ASSUMED_MTBI_S == 3600
