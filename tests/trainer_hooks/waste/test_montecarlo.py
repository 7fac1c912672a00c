"""Runs at random against the exact formula. Seeds are fixed: a test fails always or never."""

from dataclasses import replace

import numpy as np
import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import Costs, late_exact_s, slowdown, split, young_s
from trainer_hooks.waste.montecarlo import Sample, Spread, Work, simulate

SYNC = Costs(stall_s=60, mtbi_s=2250, restart_s=300)
ASYNC = Costs(stall_s=8, mtbi_s=2250, restart_s=300)
WARM = Costs(stall_s=8, mtbi_s=2250, restart_s=120)
LONG_S = 4e6


def play(costs: Costs, interval_s: float, *, seed: int = 5, runs: int = 200) -> Sample:
    """Play runs of the length that the reference was made with."""
    work = Work(costs=costs, interval_s=interval_s, productive_s=LONG_S)
    return simulate(work, runs=runs, seed=seed)


CASES = [
    pytest.param(SYNC, young_s(SYNC), id="sync"),
    pytest.param(ASYNC, young_s(ASYNC), id="async"),
    pytest.param(WARM, young_s(WARM), id="async+warm"),
    pytest.param(replace(ASYNC, commit_lag_s=24.5), young_s(ASYNC), id="D=24.5"),
    pytest.param(replace(ASYNC, commit_lag_s=60), young_s(ASYNC), id="D=60"),
    pytest.param(replace(ASYNC, commit_lag_s=245), 245.0, id="D=245"),
    pytest.param(replace(SYNC, commit_lag_s=young_s(SYNC)), young_s(SYNC), id="late sync"),
    pytest.param(replace(ASYNC, commit_lag_s=young_s(ASYNC)), young_s(ASYNC), id="late async"),
    pytest.param(replace(WARM, commit_lag_s=young_s(WARM)), young_s(WARM), id="late warm"),
    pytest.param(
        replace(ASYNC, commit_lag_s=late_exact_s(ASYNC)), late_exact_s(ASYNC), id="late, best"
    ),
    pytest.param(replace(SYNC, can_restart_fail=False), young_s(SYNC), id="restarts hold"),
    pytest.param(ASYNC, 3600.0, id="hourly"),
]


@pytest.mark.parametrize(("costs", "interval_s"), CASES)
def test_slowdown_is_the_formulas_when_runs_are_played(costs: Costs, interval_s: float) -> None:
    """Within three standard errors."""
    found = play(costs, interval_s).slowdown
    assert found.sem < 0.003 * found.mean
    assert abs(found.mean - slowdown(costs, interval_s)) < 3 * found.sem


def test_shortest_run_costs_what_the_formula_says_when_it_has_one_interval() -> None:
    """Its first start comes back from nothing, and the last one counts its restart."""
    work = Work(costs=SYNC, interval_s=1500.0, productive_s=1500.0)
    found = simulate(work, runs=40_000, seed=9).slowdown
    assert abs(found.mean - slowdown(SYNC, 1500)) < 3 * found.sem


@pytest.mark.parametrize(("costs", "interval_s"), CASES[:4])
def test_split_is_the_formulas_when_runs_are_played(costs: Costs, interval_s: float) -> None:
    """Each part by itself."""
    sample = play(costs, interval_s)
    exact = split(costs, interval_s)
    for part in ("productive", "save", "rework", "restart"):
        share = Spread.of(getattr(sample, f"{part}_s") / sample.paid_s)
        assert abs(share.mean - getattr(exact, part)) < 3 * share.sem + 1e-5
    assert sample.waiting_s.sum() == 0
    np.testing.assert_allclose(sample.elapsed_s, sample.paid_s, rtol=1e-12)


def test_sample_is_the_same_when_the_seed_is() -> None:
    """To the last bit; and another one else."""
    first, again = play(ASYNC, 190), play(ASYNC, 190)
    assert np.array_equal(first.paid_s, again.paid_s)
    assert not np.array_equal(first.paid_s, play(ASYNC, 190, seed=6).paid_s)


def test_runs_go_on_when_their_gaps_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn in many small lots, they end as they do in one."""
    monkeypatch.setattr("trainer_hooks.waste.montecarlo.CELLS", 40)
    work = Work(costs=ASYNC, interval_s=190.0, productive_s=2e5)
    found = simulate(work, runs=400, seed=1).slowdown
    assert abs(found.mean - slowdown(ASYNC, 190)) < 3 * found.sem


@pytest.mark.parametrize(
    ("shape", "low", "high"), [(0.7, 1.210, 1.229), (0.5, 1.178, 1.197), (2.0, 1.26, 1.32)]
)
def test_waste_is_less_when_interruptions_cluster(shape: float, low: float, high: float) -> None:
    """Weibull gaps of the same mean: theory 3.2 has 1.2197 and 1.1875, against 1.2447."""
    work = Work(costs=ASYNC, interval_s=young_s(ASYNC), productive_s=LONG_S, weibull_shape=shape)
    assert low < simulate(work, runs=50, seed=2).slowdown.mean < high


def test_progress_reaches_the_end_when_runs_are_played() -> None:
    """And never goes back."""
    told: list[float] = []
    work = Work(costs=ASYNC, interval_s=190.0, productive_s=LONG_S)
    simulate(work, runs=600, seed=1, progress=told.append)
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == 1


def test_one_run_is_enough_when_nobody_asks_for_an_error() -> None:
    """It has no standard error."""
    spread = play(ASYNC, 190, runs=1).slowdown
    assert spread.low == spread.mean == spread.high
    assert np.isnan(spread.sem)


def test_simulation_is_refused_when_it_would_not_end() -> None:
    """In a line that says what to do about it."""
    hopeless = Costs(stall_s=8, mtbi_s=100, restart_s=900)
    with pytest.raises(ConfigError, match="no run is played to its end"):
        play(hopeless, 40)
    with pytest.raises(ConfigError, match="at least 1 run"):
        play(ASYNC, 190, runs=0)


@pytest.mark.parametrize("wrong", [{"interval_s": 0}, {"productive_s": -1}, {"weibull_shape": 0}])
def test_work_is_refused_when_there_is_none(wrong: dict[str, float]) -> None:
    """By name."""
    values = {"interval_s": 190.0, "productive_s": 1e6} | wrong
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Work(costs=ASYNC, **values)
