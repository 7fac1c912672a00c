"""Who is accused of being slow: whoever is late by itself, again and again, and nobody else."""

import random
from collections.abc import Callable
from statistics import median

import pytest

from trainer_hooks.health.straggler import LEAST_LOST_S, Lateness, OwnReport, Stragglers

STEPS = 10_000
IN_A_REPORT = 4


def judged(
    own_s: Callable[[int, int], float], ranks: int = 4, steps: int = STEPS
) -> list[tuple[int, Lateness]]:
    """Judge a run in which ranks take so long before the first collective, with steps of 50 ms.

    Args:
        own_s: Called with rank and step.
        ranks: How many.
        steps: How long the run is.
    """
    stragglers = Stragglers()
    looks = []
    for number, first in enumerate(range(0, steps, IN_A_REPORT), start=1):
        window = range(first, first + IN_A_REPORT)
        reports = {
            rank: OwnReport(
                number=number,
                steps=IN_A_REPORT,
                own_s=median(own_s(rank, step) for step in window),
                step_s=0.05,
            )
            for rank in range(ranks)
        }
        looks.append((first + IN_A_REPORT, stragglers.judge(reports)))
    return looks


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_slow_rank_is_accused_within_16_steps_when_it_is_late_in_each(ranks: int) -> None:
    """Four reports at the most, by 30 ms, and once."""
    looks = judged(lambda rank, _: 0.031 if rank == 1 else 0.001, ranks, steps=100)
    news = [(step, lateness) for step, lateness in looks if lateness.is_news]
    [(step, lateness)] = news
    assert step <= 16
    assert lateness.accused == {1: pytest.approx(0.03)}
    assert lateness.score == pytest.approx(31.0)


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("seed", range(5))
def test_nobody_is_accused_when_a_healthy_run_is_noisy(seed: int, ranks: int) -> None:
    """10,000 steps of 20 ms, a fifth more or less, and each rank takes 0.2 s in every hundredth."""
    print(f"seed={seed}")  # noqa: T201 - to play it again
    rng = random.Random(seed)  # noqa: S311 - noise, not a secret

    def own_s(_rank: int, _step: int) -> float:
        return 0.2 if rng.random() < 0.01 else 0.02 * rng.lognormvariate(0.0, 0.2)

    assert not any(lateness.accused for _, lateness in judged(own_s, ranks))


def test_nobody_is_accused_when_a_rank_is_late_for_a_moment() -> None:
    """Six times in a thousand steps, each time by 6 ms in 20 steps: 0.12 s."""
    assert not any(
        lateness.accused
        for _, lateness in judged(
            lambda rank, step: 0.016 if rank == 1 and step % 160 < 20 else 0.01, steps=1000
        )
    )


@pytest.mark.parametrize("late_s", [0.006, 0.012])
def test_rank_is_accused_once_it_has_cost_the_others_a_fifth_of_a_second(late_s: float) -> None:
    """However little that is in each step, as long as it goes on."""
    looks = judged(lambda rank, _: 0.01 + (late_s if rank == 1 else 0.0), steps=100)
    first = next(step for step, lateness in looks if lateness.accused)
    assert (first - IN_A_REPORT) * late_s < LEAST_LOST_S <= first * late_s


def test_nobody_is_accused_when_all_ranks_are_slow_alike() -> None:
    """From one step on everything takes ten times as long: that says nothing of any rank."""
    assert not any(
        lateness.accused for _, lateness in judged(lambda _, step: 0.01 if step < 50 else 0.1)
    )


def test_nobody_is_accused_when_lateness_is_small_beside_a_step() -> None:
    """Ten times the others' time, and a twentieth of a step: nobody would gain by its going."""
    assert not any(
        lateness.accused
        for _, lateness in judged(lambda rank, _: 0.0028 if rank == 2 else 0.0003, steps=400)
    )


def test_rank_is_accused_no_more_when_it_is_as_fast_as_the_others_again() -> None:
    """And accused anew when it is slow anew."""
    looks = judged(lambda rank, step: 0.03 if rank == 0 and step % 100 < 50 else 0.002, steps=200)
    news = [set(lateness.accused) for _, lateness in looks if lateness.is_news]
    assert news == [{0}, set(), {0}, set()]


def test_report_counts_once_when_it_is_looked_at_again() -> None:
    """Rank 1 has said only once that it was late, and nothing since."""
    stragglers = Stragglers()
    for number in range(1, 20):
        lateness = stragglers.judge(
            {
                0: OwnReport(number=number, steps=10, own_s=0.001, step_s=0.03),
                1: OwnReport(number=1, steps=10, own_s=0.03, step_s=0.03),
            }
        )
        assert not lateness.accused
