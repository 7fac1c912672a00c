"""What a history says of M, C, D and R: theory 3.4 and part 5 (2026-11-30)."""

import math
import random
from collections.abc import Sequence

import pytest

from trainer_hooks.errors import ConfigError
from trainer_hooks.waste.estimate import (
    Uptime,
    dispersion,
    estimate_mtbi,
    mean_of_late_s,
    posterior,
    scaled_mtbi_s,
    typical_stall_s,
)


def interrupted(*running_s: float) -> list[Uptime]:
    """Return stretches that interruptions have ended."""
    return [Uptime(running_s=seconds, is_interrupted=True) for seconds in running_s]


@pytest.mark.parametrize(
    ("events", "exposure_s", "quantiles"),
    [
        (0, 7200, ("3748.58", "14400", "3.66213e+06")),
        (3, 7200, ("1023.66", "2057.14", "6644.06")),
        (10, 7200, ("440.764", "685.714", "1242.31")),
        (270, 607_500, ("2037.84", "2245.84", "2489.47")),
    ],
)
def test_posterior_has_all_six_digits_when_the_vectors_are_computed(
    events: int, exposure_s: float, quantiles: tuple[str, str, str]
) -> None:
    """5 %, the plug-in M = E / (n + 1/2), and 95 %."""
    found = posterior(events, exposure_s)
    values = (found.quantile_s(0.05), found.mtbi_s, found.quantile_s(0.95))
    assert tuple(f"{value:.6g}" for value in values) == quantiles


def test_pools_prior_counts_as_one_interruption_when_there_was_none() -> None:
    """And no more once there was one."""
    assert posterior(0, 1000, prior_mtbi_s=3000).mtbi_s == 4000
    assert posterior(1, 1000, prior_mtbi_s=3000).mtbi_s == pytest.approx(1000 / 1.5)
    assert estimate_mtbi([], prior_mtbi_s=3000).mtbi_s == 3000


def test_estimate_is_refused_when_there_is_nothing_to_go_by() -> None:
    """No running time, no assumption."""
    with pytest.raises(ConfigError, match="no running time"):
        estimate_mtbi([])


def test_running_counts_and_its_end_does_not_when_nobody_was_interrupted() -> None:
    """A drill, or the end of the run, is exposure without an interruption."""
    uptimes = [*interrupted(1000, 2000), Uptime(running_s=3000, is_interrupted=False)]
    assert estimate_mtbi(uptimes).mtbi_s == pytest.approx(6000 / 2.5, rel=0.01)


def test_estimate_follows_when_interruptions_become_more_frequent() -> None:
    """After as many weeks at the new rate as at the old one, the new one has most of the say."""
    week = 604_800
    calm = interrupted(*[week / 10] * 40)
    rough = interrupted(*[week / 40] * 160)
    estimate = estimate_mtbi(calm + rough).mtbi_s
    assert estimate < 1.15 * week / 40
    assert estimate > week / 40
    late = estimate_mtbi(rough + calm).mtbi_s
    assert late > 0.8 * week / 10


def test_twenty_events_are_remembered_when_they_took_longer_than_a_week() -> None:
    """Rare interruptions are not forgotten before others tell more."""
    uptimes = interrupted(*[604_800.0] * 20)
    estimate = estimate_mtbi(uptimes)
    # The half-life is 20 weeks: n = sum of 2^-(i/20), E = 20/ln 2 (1 - 1/2) weeks.
    events = math.fsum(0.5 ** (age / 20) for age in range(20))
    assert estimate.shape == pytest.approx(0.5 + events)
    assert estimate.exposure_s == pytest.approx(604_800 * 10 / math.log(2))


def test_mtbi_shrinks_with_the_nodes_when_the_job_grows() -> None:
    """In proportion, unless bursts are known to take them together."""
    assert scaled_mtbi_s(2250, 64, 128) == 1125
    assert scaled_mtbi_s(2250, 64, 128, exponent=0) == 2250


def test_stall_is_the_median_of_late_when_one_was_slow() -> None:
    """And follows when all are."""
    assert typical_stall_s([8.0] * 14 + [300.0]) == 8
    assert typical_stall_s([8.0] * 100 + [20.0] * 8) == 20


def test_restart_is_a_mean_when_some_take_long() -> None:
    """One of ten that takes an hour costs six minutes each; the late ones count more."""
    assert mean_of_late_s([60.0]) == 60
    assert mean_of_late_s([60.0, 60.0, 60.0]) == pytest.approx(60)
    assert mean_of_late_s([3600.0, 60.0]) < 1830 < mean_of_late_s([60.0, 3600.0])
    assert mean_of_late_s([0.0] * 10 + [1.0] * 10) == pytest.approx(2 / 3)


def exponential(count: int, mean_s: float) -> Sequence[float]:
    """Return gaps at random."""
    drawn = random.Random(8)  # noqa: S311 - a fixed sample, no secret
    return [drawn.expovariate(1 / mean_s) for _ in range(count)]


def test_interruptions_are_called_random_when_they_are() -> None:
    """CV and Fano factor about 1."""
    found = dispersion(interrupted(*exponential(500, 2250)))
    assert found is not None
    assert found.gaps_cv == pytest.approx(1, abs=0.15)
    assert found.fano == pytest.approx(1, abs=0.25)
    assert not found.is_over_dispersed


def test_interruptions_are_called_over_dispersed_when_they_cluster() -> None:
    """Four within minutes, then hours of rest."""
    found = dispersion(interrupted(*[60.0, 60.0, 60.0, 30_000.0] * 25))
    assert found is not None
    assert found.gaps_cv > 1.5
    assert found.fano > 3
    assert found.is_over_dispersed


def test_interruptions_are_not_called_over_dispersed_when_they_are_regular() -> None:
    """A scheduler's, every hour and a half."""
    found = dispersion(interrupted(*[5400.0] * 50))
    assert found is not None
    assert found.gaps_cv == 0
    assert not found.is_over_dispersed


@pytest.mark.parametrize(
    "uptimes",
    [
        [],
        interrupted(7200),
        interrupted(10, 10),
        interrupted(0, 0, 0),
        [Uptime(running_s=9000, is_interrupted=False)] * 4,
    ],
)
def test_nothing_is_said_of_dispersion_when_there_is_too_little(uptimes: list[Uptime]) -> None:
    """Two gaps and two hours at the least."""
    assert dispersion(uptimes) is None
