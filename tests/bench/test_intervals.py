"""The benches' statistics: medians, their intervals, and what counts as missed."""

import math

import numpy as np
import pytest
from lab.intervals import Interval, median_interval, ratio_interval


def test_interval_holds_the_true_median_in_95_of_100_when_samples_are_drawn_again() -> None:
    """The interval keeps its promise on a skewed distribution whose median is known."""
    random = np.random.default_rng(7)
    samples = random.exponential(size=(300, 60))
    intervals = [median_interval(list(sample)) for sample in samples]
    covered = sum(interval.low <= math.log(2) <= interval.high for interval in intervals)
    assert 0.91 <= covered / len(samples) <= 0.985


def test_interval_is_a_point_when_all_values_are_equal() -> None:
    """Nothing is invented around values that never differ."""
    assert median_interval([3.0] * 20) == Interval(3.0, 3.0, 3.0)


def test_interval_keeps_its_median_when_one_value_is_wild() -> None:
    """One preempted block moves neither the median nor the interval's end far."""
    interval = median_interval([*np.linspace(0.9, 1.1, 99), 1e6])
    assert interval.median == pytest.approx(1.0, abs=0.01)
    assert interval.high < 1.1


def test_interval_is_the_same_when_taken_twice() -> None:
    """A figure can be checked from its samples."""
    values = list(np.random.default_rng(3).normal(size=50))
    assert median_interval(values) == median_interval(values)


@pytest.mark.parametrize(
    ("interval", "is_beyond"),
    [
        (Interval(1.2, 1.1, 1.3), True),
        (Interval(1.2, 0.9, 1.3), False),
        (Interval(0.8, 0.7, 0.9), False),
        (Interval(1.0, 1.0, 1.0), False),
    ],
)
def test_target_is_missed_only_when_the_whole_interval_lies_beyond(
    interval: Interval, *, is_beyond: bool
) -> None:
    """A median beyond the target proves nothing while its interval reaches back."""
    assert interval.is_beyond(1.0) is is_beyond


def test_ratio_is_exact_when_both_of_a_pair_were_slowed_alike() -> None:
    """What disturbs both halves of a pair cancels."""
    disturbance = np.random.default_rng(5).uniform(1.0, 50.0, size=40)
    ratio = ratio_interval(list(500 * disturbance), list(2 * disturbance))
    assert (ratio.low, ratio.median, ratio.high) == pytest.approx((250.0, 250.0, 250.0))


def test_interval_is_refused_when_there_are_no_values() -> None:
    """No samples are no figure."""
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


@pytest.mark.parametrize(
    ("peers", "ours", "why"),
    [([1.0, 2.0], [1.0], "no pairs"), ([1.0, 2.0], [1.0, 0.0], "not above 0")],
)
def test_ratio_is_refused_when_it_would_mean_nothing(
    peers: list[float], ours: list[float], why: str
) -> None:
    """A missing partner, or a call that takes no time, is an error and not a number."""
    with pytest.raises(ValueError, match=why):
        ratio_interval(peers, ours)
