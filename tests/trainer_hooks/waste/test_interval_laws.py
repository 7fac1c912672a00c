"""The theory at any values: what has to hold, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import Costs, Split, exact_s, one_plus_w0, slowdown, split

ASYNC = Costs(stall_s=8, mtbi_s=2250, restart_s=300)


@given(stall=st.floats(1e-9, 1e9))
def test_lambert_w_solves_its_equation_when_the_ratio_is_any(stall: float) -> None:
    """From saves that are next to nothing to saves that never get through."""
    root = one_plus_w0(stall)
    assert 0 < root <= 1
    if root < 1 - 1e-6:
        # relative: -ln(1-u) - u has the digits of u^2 / 2
        assert -math.log1p(-root) - root == pytest.approx(stall, rel=1e-6)


@given(
    stall=st.floats(1e-3, 1e4),
    mtbi=st.floats(1, 1e7),
    restart=st.floats(0, 1e5),
    lag=st.floats(0, 1e4),
    factor=st.floats(0.05, 20),
)
def test_split_sums_to_one_and_is_worse_when_the_interval_is_not_the_best(
    stall: float, mtbi: float, restart: float, lag: float, factor: float
) -> None:
    """At any values, and never negative."""
    costs = Costs(stall_s=stall, mtbi_s=mtbi, restart_s=restart, commit_lag_s=lag)
    best = exact_s(costs)
    for interval in (best, best * factor):
        parts = split(costs, interval)
        every = (parts.productive, parts.save, parts.rework, parts.restart)
        assert math.fsum(every) == pytest.approx(1, abs=1e-9)
        assert min(every) >= -1e-9
    assert slowdown(costs, best * factor) >= slowdown(costs, best) * (1 - 1e-9)


def test_waste_is_all_when_nothing_can_get_through() -> None:
    """An interval or a restart of a thousand Ms is no overflow."""
    assert slowdown(ASYNC, 1e7) == math.inf
    assert split(ASYNC, 1e7).productive == 0
    hopeless = Costs(stall_s=8, mtbi_s=1, restart_s=1e6)
    assert slowdown(hopeless, 4) == math.inf
    assert split(hopeless, 4) == Split(productive=0, save=0, rework=0, restart=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mtbi_s": 0},
        {"mtbi_s": math.nan},
        {"mtbi_s": math.inf},
        {"stall_s": 0},
        {"stall_s": -1},
        {"restart_s": -1},
        {"commit_lag_s": math.inf},
    ],
)
def test_costs_are_refused_when_one_is_no_duration(wrong: dict[str, float]) -> None:
    """By name."""
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Costs(**{"mtbi_s": 2250.0, "stall_s": 8.0} | wrong)  # type: ignore[arg-type]  # by name
