"""Replaying what pools have really done: theory part 4 (2026-11-30)."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import published_trace
from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.interval import Costs, young_s
from trainer_hooks.waste.replay import (
    Parts,
    Size,
    is_worth_growing,
    phases_for,
    replay_capacity,
    replay_losses,
)
from trainer_hooks.waste.traces import TimeUnit, Trace, read_trace

SCENARIOS = {"sync": (60, 300), "async": (8, 300), "async+warm": (8, 120)}
DOC = "bamboo/aws-spot-instances-"
QUICK = Costs(stall_s=1, mtbi_s=100, restart_s=5)


def trace(*rows: tuple[float, int]) -> Trace:
    """Return a trace of our own."""
    return Trace(name="made up", unit=TimeUnit.SECONDS, rows=rows)


@pytest.mark.parametrize(
    ("name", "wasted"),
    [
        ("bamboo/g4dn-trace.csv", (0.323, 0.205, 0.131)),
        ("bamboo/p3-trace.csv", (0.311, 0.195, 0.123)),
        ("parcae/p3trace.csv", (0.311, 0.195, 0.123)),
        ("parcae/p3.csv", (0.311, 0.195, 0.123)),
        (
            f"{DOC}g4dn-xlarge-us-east-1c-2020-11-20-1930-to-2020-11-21-2200.csv",
            (0.251, 0.160, 0.115),
        ),
        (
            f"{DOC}g4dn-xlarge-us-east-1d-2020-11-23-1730-to-2020-11-24-1530.csv",
            (0.284, 0.174, 0.129),
        ),
        (f"{DOC}p2-xlarge-2020-11-20-to-2020-11-23.csv", (0.269, 0.173, 0.123)),
        ("bamboo/a100x1-east1b.txt", (0.316, 0.195, 0.134)),
        ("bamboo/v100x1-east1c.txt", (0.309, 0.193, 0.131)),
    ],
)
def test_replay_wastes_what_was_measured_when_a_published_trace_is_replayed(
    name: str, wasted: tuple[float, float, float]
) -> None:
    """Within 0.5 point is asked for; it is the table's last digit."""
    read = read_trace(published_trace(name))
    for (stall, restart), expected in zip(SCENARIOS.values(), wasted, strict=True):
        costs = Costs(stall_s=stall, mtbi_s=2250, restart_s=restart)
        found = replay_losses(read, costs, young_s(costs))
        assert found.wasted_fraction == pytest.approx(expected, abs=0.0006)
        assert len(found.phases) == 120


@pytest.mark.parametrize(
    ("name", "goodput"),
    [
        ("bamboo/p3-trace.csv", 0.510),
        ("bamboo/v100x1-east1c.txt", 0.757),
        ("bamboo/a100x1-east1b.txt", 0.820),
        (f"{DOC}g4dn-xlarge-us-east-1c-2020-11-20-1930-to-2020-11-21-2200.csv", 0.848),
        (f"{DOC}g4dn-xlarge-us-east-1d-2020-11-23-1730-to-2020-11-24-1530.csv", 0.838),
        (f"{DOC}p2-xlarge-2020-11-20-to-2020-11-23.csv", 0.851),
    ],
)
def test_bursts_are_no_harm_to_rework_when_interruptions_are_counted_once(
    name: str, goodput: float
) -> None:
    """At the trace's own M, and not at that of its nodes."""
    read = read_trace(published_trace(name))
    costs = Costs(stall_s=8, mtbi_s=read.span_s / len(read.losses), restart_s=300)
    found = replay_losses(read, costs, young_s(costs))
    assert 1 - found.wasted_fraction == pytest.approx(goodput, abs=0.005)


def test_parts_are_those_of_a_hand_count_when_one_interruption_is_replayed() -> None:
    """From phase 0: 60 s with 5 saves, the last of them not committed yet, 5 s of restart, 35 s."""
    costs = Costs(stall_s=1, mtbi_s=100, restart_s=5, commit_lag_s=6)
    parts = replay_losses(trace((0, 2), (60, 1), (100, 1)), costs, 10, phases=1).phases[0]
    assert parts == Parts(
        productive_s=40 + 20, save_s=4 + 2, rework_s=60 - 44 + 35 - 22, restart_s=5
    )


def test_restart_begins_again_when_it_is_interrupted() -> None:
    """3 s of one, and then 5 s."""
    costs = Costs(stall_s=1, mtbi_s=50, restart_s=5)
    parts = replay_losses(trace((0, 3), (50, 2), (53, 1), (100, 1)), costs, 10, phases=1).phases[0]
    assert parts.restart_s == 8
    assert parts.paid_s == 100


def test_job_waits_when_there_are_too_few_nodes() -> None:
    """And pays for those that wait, unless they are given back."""
    counts = trace((0, 4), (40, 3), (60, 4), (100, 4))
    fixed = replay_capacity(counts, QUICK, 10, Size(nodes=4, least_nodes=4), phases=1).phases[0]
    assert fixed.waiting_s == 3 * 20
    assert fixed.restart_s == 4 * 5 * 2
    assert fixed.paid_s == 4 * 40 + 3 * 20 + 4 * 40
    released = Size(nodes=4, least_nodes=4, is_released_while_waiting=True)
    assert replay_capacity(counts, QUICK, 10, released, phases=1).phases[0].waiting_s == 0


def test_job_goes_on_smaller_when_it_may_and_grows_when_that_is_worth_it() -> None:
    """Four nodes, three, and four again after a planned stop: nothing waits or is lost twice."""
    counts = trace((0, 4), (40, 3), (60, 4), (100, 4))
    parts = replay_capacity(counts, QUICK, 10, Size(nodes=4, least_nodes=2), phases=1).phases[0]
    assert parts.waiting_s == 0
    assert parts.restart_s == 5 * (4 + 3 + 4)
    assert parts.paid_s == 4 * 40 + 3 * 20 + 4 * 40
    # The planned stop loses nothing: 14 s of running and a save of 1 s.
    first = 4 * (35 - 3 * 11)
    last = 4 * (35 - 3 * 11)
    assert parts.rework_s == first + last


def test_job_stays_small_when_growing_costs_more_than_it_brings() -> None:
    """One node more of 64, for a restart of all."""
    costs = Costs(stall_s=8, mtbi_s=2250, restart_s=300)
    assert not is_worth_growing(costs, 63, 1)
    assert is_worth_growing(costs, 50, 14)
    slow = Costs(stall_s=1, mtbi_s=100, restart_s=80)
    counts = trace((0, 4), (40, 3), (60, 4), (100, 4))
    parts = replay_capacity(counts, slow, 10, Size(nodes=4, least_nodes=2), phases=1).phases[0]
    assert parts.paid_s == 4 * 40 + 3 * 60


counts = st.lists(st.tuples(st.floats(0.1, 500), st.integers(0, 8)), min_size=1, max_size=30)


@given(steps=counts, phases=st.integers(1, 7), lag=st.floats(0, 20))
def test_nothing_is_left_over_when_any_trace_is_replayed(
    steps: list[tuple[float, int]], phases: int, lag: float
) -> None:
    """Every paid second has one name, and none is negative."""
    at, rows = 0.0, [(0.0, 5)]
    for seconds, count in steps:
        at += seconds
        rows.append((at, count))
    costs = Costs(stall_s=1, mtbi_s=100, restart_s=5, commit_lag_s=lag)
    made = trace(*rows)
    every = replay_capacity(made, costs, 10, Size(nodes=8, least_nodes=8), phases).phases
    for parts in every:
        assert parts.paid_s == pytest.approx(made.node_hours * 3600, abs=1e-6)
        assert min(parts.productive_s, parts.save_s, parts.rework_s, parts.waiting_s) >= -1e-6
    elastic = replay_capacity(made, costs, 10, Size(nodes=8, least_nodes=1), phases)
    assert 0 <= elastic.wasted_fraction <= 1
    if made.losses:
        lost = replay_losses(made, costs, 10, phases)
        for parts in lost.phases:
            assert parts.paid_s == pytest.approx(100 * len(made.losses), rel=1e-9)
        assert math.fsum(map(lost.share, Parts.__slots__)) == pytest.approx(1, abs=1e-9)
        low, high = lost.wasted_range
        assert 0 <= low <= high <= 1


def test_all_is_wasted_when_a_job_never_runs() -> None:
    """Eight nodes of a pool that has none."""
    empty = replay_capacity(trace((0, 0), (50, 0)), QUICK, 10, Size(nodes=8, least_nodes=8), 3)
    assert empty.wasted_fraction == 1
    assert empty.share("waiting_s") == 0


def test_replay_is_refused_when_nothing_was_lost(tmp_path: Path) -> None:
    """There is no M to scale to, either."""
    (tmp_path / "calm.csv").write_text("0,8\n100,8\n")
    with pytest.raises(ConfigError, match=r"calm\.csv has no interruption"):
        replay_losses(read_trace(tmp_path / "calm.csv"), QUICK, 10)


@pytest.mark.parametrize(("nodes", "least"), [(4, 5), (4, 0)])
def test_size_is_refused_when_it_does_not_fit(nodes: int, least: int) -> None:
    """At least one node, at most all."""
    with pytest.raises(ConfigError, match="can't do with"):
        Size(nodes=nodes, least_nodes=least)


@pytest.mark.parametrize(("rows", "phases"), [(3, 120), (83_000, 120), (400_000, 25), (10**8, 4)])
def test_starts_are_fewer_when_a_trace_is_very_long(rows: int, phases: int) -> None:
    """Replaying it takes seconds all the same."""
    assert phases_for(rows) == phases
