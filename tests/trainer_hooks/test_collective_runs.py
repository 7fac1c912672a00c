"""Random runs of ranks that agree by a collective: none disagrees, hangs, or is not heard."""

import secrets
from collections.abc import Iterable

import pytest

from tests.support.collective_plan import What, draw
from tests.support.collective_run import CollectiveRun
from trainer_hooks import collective_agreement

RUNS, MANY_RUNS = 40, 1000


def assert_all_agree(seeds: Iterable[int]) -> None:
    """Run all seeds, each of which is said where it fails."""
    failed = []
    for seed in seeds:
        plan = draw(seed)
        if faults := CollectiveRun(plan).faults():
            print(plan, *faults, sep="\n")  # noqa: T201 - shown where the test fails
            failed.append(f"seed {seed}: {'; '.join(faults)}")
    assert not failed, "\n".join(failed)


def test_ranks_agree_when_anything_comes_at_any_time() -> None:
    """2 to 6 ranks, notices that come, flicker, hurry and go, late ranks: the same every time."""
    assert_all_agree(range(RUNS))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ranks_agree_when_anything_comes_at_any_time_many_times() -> None:
    """Other seeds every time, which are printed."""
    first = RUNS + secrets.randbelow(10**9)
    print(f"seeds {first} to {first + MANY_RUNS - 1}")  # noqa: T201 - to run them again
    assert_all_agree(range(first, first + MANY_RUNS))


def test_plans_are_the_same_when_drawn_again_and_have_all_kinds_of_events() -> None:
    """A seed is enough to run a failure again, and nothing that can come is left out."""
    plans = [draw(seed) for seed in range(RUNS)]
    assert plans == [draw(seed) for seed in range(RUNS)]
    assert {event.what for plan in plans for event in plan.events} == set(What)
    for kinds in (
        {plan.is_coupled for plan in plans},
        {plan.may_end for plan in plans},
        {plan.per_node > 1 for plan in plans},
        {plan.ticks > 0 for plan in plans},
    ):
        assert kinds == {True, False}


def test_a_fault_is_found_when_nobody_hears_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that train on with a notice in force are no agreement."""
    monkeypatch.setattr(collective_agreement, "_has_news", lambda _numbers: False)
    with pytest.raises(AssertionError, match="was not heard"):
        assert_all_agree(range(RUNS))
