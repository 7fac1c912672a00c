"""The job in virtual time, against a count by hand and against the formula."""

import numpy as np
import pytest
from lab.stand_in import live, waste_ratio, without_restarts

from trainer_hooks.waste.interval import Costs, slowdown


def costs(*, stall: float = 1.0, lag: float = 2.0, restart: float = 5.0) -> Costs:
    """Return what saves and restarts take."""
    return Costs(
        mtbi_s=100.0,
        stall_s=stall,
        commit_lag_s=lag,
        restart_s=restart,
        can_restart_fail=False,
    )


@pytest.mark.parametrize(
    ("running_s", "kept_s"),
    [
        (9.0, 0),  # in the first interval
        (10.5, 0),  # in the stall
        (12.9, 0),  # before the commit
        (13.0, 10),
        (21.0, 10),
        (23.9, 10),
        (24.0, 20),
        (35.0, 30),
    ],
)
def test_work_is_kept_when_it_was_committed_in_time(running_s: float, kept_s: float) -> None:
    """Intervals of 10 s, stalls of 1 s, commits 2 s after them."""
    assert live([running_s], 10.0, costs()).kept_s.tolist() == [kept_s]


def test_save_waits_when_the_one_before_is_in_flight() -> None:
    """Intervals of 3 s and commits after 10 s: one save each 11 s."""
    slow = costs(lag=10.0)
    kept = [live([at], 3.0, slow).kept_s[0] for at in (13.9, 14.0, 24.9, 25.0, 36.0)]
    assert kept == [0, 3, 3, 6, 9]


def test_waste_is_the_formulas_when_interruptions_are_many() -> None:
    """At random, a hundred thousand of them, within what chance explains."""
    runs_s = [float(run) for run in np.random.default_rng(5).exponential(100.0, 100_000)]
    expected = 1 - 1 / slowdown(costs(), 14.0)
    assert live(runs_s, 14.0, costs()).waste == pytest.approx(expected, rel=0.01)


def test_ratio_is_one_when_both_lives_are_the_same() -> None:
    """What an interruption has done to both cancels."""
    life = live([50.0, 80.0, 120.0], 10.0, costs())
    assert without_restarts(life, costs()).paid_s.tolist() == [50.0, 80.0, 120.0]
    ratio = waste_ratio(life, life)
    assert (ratio.low, ratio.median, ratio.high) == (1.0, 1.0, 1.0)
