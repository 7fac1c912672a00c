"""Runs on nodes that go in bursts and come back late."""

import math
import random

import numpy as np
import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.fleet import Fleet, simulate_fleet
from trainer_hooks.waste.interval import Costs, slowdown, young_s
from trainer_hooks.waste.montecarlo import Sample, Spread, Work
from trainer_hooks.waste.replay import is_worth_growing

ASYNC = Costs(stall_s=8, mtbi_s=2250, restart_s=300)
T = young_s(ASYNC)


def play(fleet: Fleet, *, seed: int = 3, runs: int = 300) -> Sample:
    """Play runs of the example."""
    work = Work(costs=ASYNC, interval_s=T, productive_s=1e6)
    return simulate_fleet(work, fleet, runs=runs, seed=seed)


def test_slowdown_is_the_formulas_when_nodes_are_replaced_at_once() -> None:
    """However many go at a time."""
    for burst in (1.0, 8.0):
        found = play(Fleet(nodes=64, least_nodes=64, burst=burst)).slowdown
        assert abs(found.mean - slowdown(ASYNC, T)) < 3 * found.sem


def test_waiting_is_paid_for_the_rest_when_the_size_is_fixed() -> None:
    """One of 64 goes, and the others wait half an hour in the mean, for each interruption.

    Restarts can be interrupted too, so there are M of running for each of them, and no less.
    """
    sample = play(Fleet(nodes=64, least_nodes=64, capacity_wait_s=1800))
    expected = 63 / 64 * 1800 / 2250 * slowdown(ASYNC, T)
    waiting = Spread.of(sample.waiting_s / sample.productive_s)
    assert abs(waiting.mean - expected) < 3 * waiting.sem
    lost = Spread.of((sample.paid_s - sample.waiting_s) / sample.productive_s)
    assert abs(lost.mean - slowdown(ASYNC, T)) < 3 * lost.sem


def test_waiting_is_not_paid_when_nodes_are_given_back() -> None:
    """The calendar has it all the same."""
    kept = play(Fleet(nodes=64, least_nodes=64, capacity_wait_s=1800))
    released = play(
        Fleet(nodes=64, least_nodes=64, capacity_wait_s=1800, is_released_while_waiting=True)
    )
    assert released.waiting_s.sum() == 0
    assert np.array_equal(kept.elapsed_s, released.elapsed_s)
    assert released.paid_s.mean() < 0.7 * released.elapsed_s.mean()


def test_job_pays_less_when_it_may_shrink_further() -> None:
    """From all 64 to half of them: what bursts cost is waiting."""
    slow = [
        play(Fleet(nodes=64, least_nodes=least, burst=4, capacity_wait_s=1800)).slowdown.mean
        for least in (64, 56, 32)
    ]
    assert slow == sorted(slow, reverse=True)
    assert slow[0] > 2
    assert slow[2] < 1.3


def test_every_paid_second_has_a_name_when_a_job_shrinks_and_grows() -> None:
    """Elapsed time of running covers it, and the work done is the same in every run."""
    sample = play(Fleet(nodes=16, least_nodes=4, burst=2, capacity_wait_s=3600))
    assert np.all(sample.elapsed_s > sample.paid_s)  # fewer nodes take longer
    for part in (sample.save_s, sample.rework_s, sample.restart_s, sample.waiting_s):
        assert np.all(part >= -1e-6)
    assert np.ptp(sample.productive_s) == 0
    # Of productive time, saves take C/T, one more for each planned stop.
    assert np.all(sample.save_s >= sample.productive_s * 8 / T * (1 - 1e-9))


def test_sample_is_the_same_when_the_seed_is() -> None:
    """To the last bit."""
    fleet = Fleet(nodes=16, least_nodes=8, burst=2, capacity_wait_s=600)
    assert np.array_equal(play(fleet).paid_s, play(fleet).paid_s)
    assert not np.array_equal(play(fleet).paid_s, play(fleet, seed=4).paid_s)


def plainly(work: Work, fleet: Fleet, draw: random.Random) -> dict[str, float]:
    """Play one run, one thing after the other: what the fast simulation has to agree with."""
    costs, nodes, whole = work.costs, fleet.nodes, fleet.nodes
    to_do = work.segments * work.interval_s * whole
    spent = dict.fromkeys(("save_s", "rework_s", "restart_s", "waiting_s", "elapsed_s"), 0.0)
    ready_s = 0.0
    while True:
        strike_s = draw.expovariate(1 / costs.mtbi_s)
        back_s = draw.expovariate(1 / fleet.capacity_wait_s)
        is_growing = nodes < whole and back_s < strike_s
        is_growing = is_growing and is_worth_growing(costs, nodes, whole - nodes)
        up_s = max(0.0, (back_s if is_growing else strike_s) - ready_s)
        spent["restart_s"] += nodes * min(ready_s, back_s if is_growing else strike_s)
        spent["elapsed_s"] += min(ready_s, back_s if is_growing else strike_s)
        segment_s = work.interval_s + costs.stall_s
        segments = float(max(0, int((up_s - costs.commit_lag_s) // segment_s)))
        if is_growing:
            segments = max(0.0, up_s - costs.stall_s - costs.commit_lag_s) / segment_s
        needed = to_do / nodes / work.interval_s
        if segments >= needed:
            spent["save_s"] += nodes * (needed * costs.stall_s + costs.commit_lag_s)
            spent["elapsed_s"] += needed * segment_s + costs.commit_lag_s
            return spent
        to_do -= segments * nodes * work.interval_s
        spent["save_s"] += nodes * segments * costs.stall_s
        spent["save_s" if is_growing else "rework_s"] += nodes * (up_s - segments * segment_s)
        spent["elapsed_s"] += up_s
        ready_s = costs.restart_s
        if is_growing or back_s < strike_s:
            nodes = whole
        if not is_growing:
            lost = 1
            while draw.random() < 1 - 1 / fleet.burst:
                lost += 1
            nodes = max(0, nodes - lost)
        if nodes < fleet.least_nodes:
            wait_s = draw.expovariate(1 / fleet.capacity_wait_s)
            spent["waiting_s"] += nodes * wait_s
            spent["elapsed_s"] += wait_s
            nodes = whole


def test_sample_is_a_plain_simulations_when_a_job_shrinks_and_grows() -> None:
    """Played by another program, from other random numbers: each part within 3.5 errors."""
    costs = Costs(stall_s=20, mtbi_s=1000, restart_s=100, commit_lag_s=15)
    work = Work(costs=costs, interval_s=150.0, productive_s=15_000)
    fleet = Fleet(nodes=8, least_nodes=5, burst=2, capacity_wait_s=900)
    fast = simulate_fleet(work, fleet, runs=6000, seed=1)
    draw = random.Random(2)  # noqa: S311 - a fixed sample, no secret
    slow = [plainly(work, fleet, draw) for _ in range(6000)]
    for part in slow[0]:
        scale = 1 if part == "elapsed_s" else fleet.nodes
        mine = Spread.of(getattr(fast, part) * scale)
        other = Spread.of(np.array([run[part] for run in slow]))
        apart = abs(mine.mean - other.mean) / math.hypot(mine.sem, other.sem)
        assert apart < 3.5, f"{part}: {mine} and {other}"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"least_nodes": 65}, "can't do with 65"),
        ({"least_nodes": 0}, "can't do with 0"),
        ({"burst": 0.5}, "1 to 64 nodes"),
        ({"burst": 65}, "1 to 64 nodes"),
        ({"capacity_wait_s": -1}, "capacity_wait_s"),
    ],
)
def test_fleet_is_refused_when_its_numbers_do_not_fit(wrong: dict[str, int], why: str) -> None:
    """In words."""
    with pytest.raises(ConfigError, match=why):
        Fleet(**{"nodes": 64, "least_nodes": 64} | wrong)  # type: ignore[arg-type]  # by name
