"""Which interval is taken, by what, and when it is changed."""

import math

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.choice import (
    Bound,
    Limits,
    break_even_nodes,
    choose,
    in_steps,
    is_worth_changing,
)
from trainer_hooks.waste.interval import Costs, slowdown

ASYNC = Costs(stall_s=8, mtbi_s=2250, restart_s=300)


def lagging(lag_s: float) -> Costs:
    """Return the example with commits that take a while."""
    return Costs(stall_s=8, mtbi_s=2250, restart_s=300, commit_lag_s=lag_s)


@pytest.mark.parametrize(
    ("costs", "limits", "chosen", "bound"),
    [
        (ASYNC, Limits(), 184.441, Bound.OPTIMUM),
        (lagging(60), Limits(), 184.441, Bound.OPTIMUM),
        (lagging(245), Limits(), 245, Bound.COMMIT_LAG),
        (lagging(245), Limits(lag_margin=0.1), 269.5, Bound.COMMIT_LAG),
        (ASYNC, Limits(state_bytes=0.98e12, bytes_per_s=4e9), 237, Bound.BANDWIDTH),
        (ASYNC, Limits(state_bytes=0.98e12, bytes_per_s=40e9), 184.441, Bound.OPTIMUM),
        (ASYNC, Limits(overhead=0.02), 400, Bound.OVERHEAD),
        (lagging(500), Limits(overhead=0.02), 500, Bound.COMMIT_LAG),
    ],
)
def test_interval_is_the_best_that_is_allowed_when_there_are_limits(
    costs: Costs, limits: Limits, chosen: float, bound: Bound
) -> None:
    """With what decided it, and Young's and Daly's beside it."""
    choice = choose(costs, limits)
    assert choice.chosen_s == pytest.approx(chosen, rel=1e-5)
    assert choice.bound is bound
    assert (round(choice.young_s, 3), round(choice.daly_s, 3)) == (189.737, 184.441)


@pytest.mark.parametrize(
    ("costs", "limits", "step_s", "steps"),
    [
        (ASYNC, Limits(), 10.0, 18),
        (ASYNC, Limits(), 500.0, 1),
        (lagging(245), Limits(), 10.0, 25),
        (lagging(240), Limits(), 10.0, 24),
        (lagging(180), Limits(), 40.0, 5),
        (lagging(184), Limits(), 183.0, 2),
        (ASYNC, Limits(overhead=0.02), 150.0, 3),
    ],
)
def test_steps_never_undercut_a_bound_when_they_are_rounded(
    costs: Costs, limits: Limits, step_s: float, steps: int
) -> None:
    """The nearest that is best, or the next that a bound allows."""
    assert in_steps(costs, choose(costs, limits), step_s) == steps


@pytest.mark.parametrize(
    ("now_s", "proposed_s", "is_worth"),
    [
        (184.0, 190.0, False),
        (184.0, 184.0, False),
        (120.0, 184.0, True),  # far
        (150.0, 184.4, False),  # 0.16 % of the time
        (184.4, 400.0, True),
    ],
)
def test_interval_stays_when_another_gains_next_to_nothing(
    now_s: float, proposed_s: float, *, is_worth: bool
) -> None:
    """The waste is flat near its optimum."""
    assert is_worth_changing(ASYNC, now_s, proposed_s) is is_worth


def test_interval_gives_way_when_the_gain_is_large_though_the_change_is_not() -> None:
    """Where saves are dear a small change counts."""
    costs = Costs(stall_s=1000, mtbi_s=1000)
    now_s, proposed_s = 1000.0, 841.4
    assert abs(math.log(proposed_s / now_s)) < 0.25
    assert slowdown(costs, now_s) / slowdown(costs, proposed_s) > 1.002
    assert is_worth_changing(costs, now_s, proposed_s)


def test_interval_gives_way_when_it_is_too_short_for_the_commit() -> None:
    """However little that gains."""
    assert is_worth_changing(lagging(190), 189.0, 190.0)
    assert not is_worth_changing(lagging(188), 189.0, 190.0)


@pytest.mark.parametrize(
    ("stall", "restart", "at_third", "at_price"),
    [(60, 300, 72.0, 219), (8, 300, 134.7, 343), (8, 120, 271.8, 738.6), (2, 60, 644.6, 1664)],
)
def test_break_even_is_the_theorys_when_nodes_last_forty_hours(
    stall: float, restart: float, at_third: float, at_price: float
) -> None:
    """Nodes at which a third is wasted, and at which spot at 0.4 of the price saves nothing."""
    costs = Costs(stall_s=stall, mtbi_s=1, restart_s=restart)
    assert break_even_nodes(costs, 144_000, 1.5) == pytest.approx(at_third, abs=0.05)
    assert break_even_nodes(costs, 144_000, 2.5) == pytest.approx(at_price, abs=0.5)


def test_break_even_is_less_than_one_node_when_one_is_too_many() -> None:
    """A node that lasts as long as a restart takes."""
    assert 0 < break_even_nodes(ASYNC, 300, 1.5) < 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"state_bytes": 0.0}, "state_bytes"),
        ({"bytes_per_s": math.nan, "state_bytes": 1.0}, "bytes_per_s"),
        ({"overhead": -0.1}, "overhead"),
        ({"bytes_per_s": 1.0}, "without state_bytes"),
    ],
)
def test_limits_are_refused_when_they_make_no_sense(wrong: dict[str, float], named: str) -> None:
    """By name."""
    with pytest.raises(ConfigError, match=named):
        Limits(**wrong)


@pytest.mark.parametrize("limit", [1.0, 0.0, math.inf, math.nan])
def test_break_even_is_refused_when_there_is_nothing_to_break_even_at(limit: float) -> None:
    """A slowdown is above 1."""
    with pytest.raises(ConfigError, match="above 1"):
        break_even_nodes(ASYNC, 144_000, limit)
