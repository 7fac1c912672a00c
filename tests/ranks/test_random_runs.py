"""Random interruption runs: no two ranks disagree, none hangs, and the codes are those promised.

A failing seed is run again, and shrunk, by ``python -m tests.support.random_run SEED``.
"""

import secrets
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.random_plan import What, draw
from tests.support.random_run import first_faults, run_all
from trainer_hooks import agreement
from trainer_hooks.decision import Decision, Published
from trainer_hooks.rule import decide

pytestmark = [pytest.mark.ranks, pytest.mark.timeout(600)]

RUNS, MANY_RUNS, BATCHES = 50, 1000, 20
DRIFTING = 0
"""A seed whose ranks are far apart when they are told to stop."""


def assert_all_agree(seeds: Iterable[int], directory: Path) -> None:
    """Run all seeds; fail with each one's plan and logs where something does not hold."""
    failed = []
    for run in run_all(map(draw, seeds), directory):
        if faults := run.faults():
            print(run.report(), *faults, sep="\n")  # noqa: T201 - shown where the test fails
            failed.append(f"seed {run.plan.seed}: {'; '.join(faults)}")
    assert not failed, "\n".join(failed)


def test_ranks_agree_when_anything_comes_at_any_time(tmp_path: Path) -> None:
    """2 to 16 ranks, notices, withdrawals, signals, late threads, kills: the same 50 every time."""
    assert_all_agree(range(RUNS), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_ranks_agree_when_anything_comes_at_any_time_a_thousand_times(
    batch: int, tmp_path: Path
) -> None:
    """Other seeds every time, which are printed."""
    count = MANY_RUNS // BATCHES
    first = RUNS + secrets.randbelow(10**9)
    print(f"batch {batch}: seeds {first} to {first + count - 1}")  # noqa: T201 - to run them again
    assert_all_agree(range(first, first + count), tmp_path)


def test_plans_are_the_same_when_drawn_again_and_have_all_kinds_of_events() -> None:
    """A seed is enough to run a failure again, and nothing that can come is left out."""
    plans = [draw(seed) for seed in range(RUNS)]
    assert plans == [draw(seed) for seed in range(RUNS)]
    assert {event.what for plan in plans for event in plan.events} == set(What)
    assert {plan.is_coupled for plan in plans} == {True, False}
    assert min(plan.size for plan in plans) == 2
    assert max(plan.size for plan in plans) == 16


def test_plan_loses_one_event_or_delay_when_it_is_shrunk() -> None:
    """By index, delays first."""
    plan = next(plan for plan in map(draw, range(RUNS)) if plan.delays and len(plan.events) > 1)
    assert plan.without(0).delays == plan.delays[1:]
    assert plan.without(len(plan.delays)).events == plan.events[1:]


def test_a_fault_is_found_when_the_rule_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that act beyond the slowest of them, not the furthest, part."""

    def broken(records: Iterable[Published]) -> Decision:
        records = list(records)
        decision = decide(records)
        slowest = min(record.position for record in records)
        return decision if decision.last is None else replace(decision, last=slowest)

    monkeypatch.setattr(agreement, "decide", broken)
    plan = replace(draw(DRIFTING), save_every=1000)  # a save would wait for all until the deadline
    assert "ranks stop at different steps" in first_faults(plan, times=3)[0]
