"""What is played at random, and what is refused with something that can be played instead."""

import re

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import Costs
from trainer_hooks.waste.playable import MOST_RUNS, check_playable

COSTS = Costs(stall_s=5.0, commit_lag_s=20.0, restart_s=60.0, mtbi_s=3600.0)
INTERVAL_S = 200.0


def _check(each: float, runs: int, *, has_fleet: bool) -> None:
    """Check runs of about so many interruptions each."""
    check_playable(COSTS, INTERVAL_S, each * 3600 / 1.1, runs, has_fleet=has_fleet)


@pytest.mark.parametrize(
    ("each", "runs", "has_fleet"),
    [
        (1e3, 10_000, True),
        (4e4, 10_000, True),
        (7e5, 1, True),
        (1e6, 1000, False),
        (1.5e5, 10_000, False),
        (10, MOST_RUNS, True),
    ],
)
def test_runs_are_played_when_they_take_a_minute(
    each: float, runs: int, *, has_fleet: bool
) -> None:
    """Long ones, or many."""
    _check(each, runs, has_fleet=has_fleet)


@pytest.mark.parametrize(
    ("each", "runs", "has_fleet"),
    [
        (1e6, 1, True),
        (1e6, 2000, True),
        (1e5, 10_000, True),
        (2e3, MOST_RUNS, True),
        (1e6, 10_000, False),
        (1e12, 1, False),
    ],
)
def test_advice_is_playable_when_runs_are_refused(
    each: float, runs: int, *, has_fleet: bool
) -> None:
    """Less work always is; fewer runs only where one of them is not too long by itself."""
    with pytest.raises(ConfigError, match="would take too long") as refused:
        _check(each, runs, has_fleet=has_fleet)
    [part] = re.findall(r"plan with 1/(\d+) of --productive-gpu-hours", str(refused.value))
    _check(each / int(part), runs, has_fleet=has_fleet)
    with pytest.raises(ConfigError, match="would take too long"):
        _check(each / int(part) * 2.5, runs, has_fleet=has_fleet)
    for fewer in re.findall(r"or with --runs (\d+)", str(refused.value)):
        _check(each, int(fewer), has_fleet=has_fleet)


def test_runs_are_refused_when_they_are_too_many() -> None:
    """However short."""
    with pytest.raises(ConfigError, match="say no more than 1000000"):
        _check(1.0, MOST_RUNS + 1, has_fleet=False)
