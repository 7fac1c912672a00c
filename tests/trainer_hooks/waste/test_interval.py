"""The theory, digit by digit: theory part 5 (2026-11-30)."""

import pytest

from trainer_hooks.waste.interval import (
    Costs,
    daly_s,
    exact_s,
    first_order,
    late_exact_s,
    one_plus_w0,
    slowdown,
    split,
    young_s,
)

SYNC = Costs(stall_s=60, mtbi_s=2250, restart_s=300)
ASYNC = Costs(stall_s=8, mtbi_s=2250, restart_s=300)
WARM = Costs(stall_s=8, mtbi_s=2250, restart_s=120)
ROWS = pytest.mark.parametrize("row", ["sync", "async", "warm"])
NAMED = {"sync": SYNC, "async": ASYNC, "warm": WARM}


def digits(value: float, count: int = 6) -> float:
    """Round to significant digits, as the vectors are."""
    return float(f"{value:.{count}g}")


@pytest.mark.parametrize(
    ("stall", "mtbi", "intervals", "slow"),
    [
        (60, 2250, (519.615, 480.385, 480.409), 1.27148),
        (8, 2250, (189.737, 184.441, 184.441), 1.08929),
        (8, 1125, (134.164, 128.884, 128.885), 1.12939),
        (60, 1125, (367.423, 328.512, 328.560), 1.41254),
        (8, 600, (97.9796, 92.7188, 92.7204), 1.18278),
        (250, 600, (547.723, 393.735, 395.336), 2.93163),
        (30, 3600, (464.758, 444.973, 444.977), 1.14104),
        (0.5, 86400, (293.939, 293.606, 293.606), 1.00341),
        (300, 86400, (7200, 7001.39, 7001.40), None),
        (300, 900, (734.847, 548.455, 549.990), None),
    ],
)
def test_interval_has_all_six_digits_when_the_vectors_are_computed(
    stall: float, mtbi: float, intervals: tuple[float, float, float], slow: float | None
) -> None:
    """Young, Daly, exact, and the slowdown at the exact optimum without restarts.

    In the ninth row the vectors have only 7001.4 for both.
    """
    costs = Costs(stall_s=stall, mtbi_s=mtbi)
    assert tuple(map(digits, (young_s(costs), daly_s(costs), exact_s(costs)))) == intervals
    assert slow is None or digits(slowdown(costs, exact_s(costs))) == slow


@pytest.mark.parametrize(
    ("mtbi", "daly_min", "exact_min"),
    [(86400, 116.690, 116.690), (21600, 56.7130, 56.7140), (900, 9.14092, 9.16650)],
)
def test_interval_is_the_published_one_when_a_save_takes_five_minutes(
    mtbi: float, daly_min: float, exact_min: float
) -> None:
    """Daly's captions say 117, 57 and 9.1 minutes."""
    costs = Costs(stall_s=300, mtbi_s=mtbi)
    assert digits(daly_s(costs) / 60) == daly_min
    assert digits(exact_s(costs) / 60) == exact_min


@pytest.mark.parametrize(
    ("stall", "mtbi", "value"),
    [(60, 2250, -0.786485), (8, 2250, -0.918026), (300, 900, -0.388900)],
)
def test_lambert_w_has_all_six_digits_when_it_is_asked_for(
    stall: float, mtbi: float, value: float
) -> None:
    """W0(-e^(-1 - C/M))."""
    assert digits(one_plus_w0(stall / mtbi) - 1) == value


@pytest.mark.parametrize(
    ("costs", "mtbi", "slow", "unfailing"),
    [
        (SYNC, 2250, 1.45283, 1.44101),
        (ASYNC, 2250, 1.24466, 1.23453),
        (WARM, 2250, 1.14897, 1.14739),
        (SYNC, 1125, 1.84421, None),
        (ASYNC, 1125, 1.47453, None),
        (WARM, 1125, 1.25651, None),
    ],
)
def test_slowdown_has_all_six_digits_when_restarts_are_paid(
    costs: Costs, mtbi: float, slow: float, unfailing: float | None
) -> None:
    """With restarts that are interrupted too, and without."""
    costs = Costs(stall_s=costs.stall_s, restart_s=costs.restart_s, mtbi_s=mtbi)
    calm = Costs(
        stall_s=costs.stall_s, restart_s=costs.restart_s, mtbi_s=mtbi, can_restart_fail=False
    )
    assert digits(slowdown(costs, exact_s(costs))) == slow
    assert unfailing is None or digits(slowdown(calm, exact_s(calm))) == unfailing


@pytest.mark.parametrize(
    ("lag", "interval", "slow", "first"),
    [
        (0, None, 1.24466, 0.217695),
        (24.5, None, 1.25829, 0.228583),
        (60, None, 1.27830, 0.244361),
        (245, 245, 1.39250, 0.329320),
    ],
)
def test_lag_costs_what_a_restart_would_when_commits_come_late(
    lag: float, interval: float | None, slow: float, first: float
) -> None:
    """The slowdown and the usual estimate, at the interval that the lag allows."""
    costs = Costs(stall_s=8, mtbi_s=2250, restart_s=300, commit_lag_s=lag)
    interval = exact_s(costs) if interval is None else interval
    assert digits(slowdown(costs, interval)) == slow
    assert digits(first_order(costs, interval).total) == first
    longer = Costs(stall_s=8, mtbi_s=2250, restart_s=300 + lag)
    assert slowdown(costs, interval) == pytest.approx(slowdown(longer, interval), rel=1e-12)


@pytest.mark.parametrize(
    ("costs", "at_young", "best", "at_best"),
    [
        (SYNC, 1.83147, 270.287, 1.69593),
        (ASYNC, 1.35422, 105.464, 1.32133),
        (WARM, 1.25010, 105.464, 1.21975),
    ],
)
def test_slowdown_has_all_six_digits_when_each_save_waits_for_the_next(
    costs: Costs, at_young: float, best: float, at_best: float
) -> None:
    """The loop that commits a save only when the next is due: D = T.

    R does not move the optimum, so the third is the second's; the vectors have it 0.001 s longer.
    """

    def late(interval: float) -> Costs:
        return Costs(
            stall_s=costs.stall_s,
            mtbi_s=costs.mtbi_s,
            restart_s=costs.restart_s,
            commit_lag_s=interval,
        )

    assert digits(slowdown(late(young_s(costs)), young_s(costs))) == at_young
    optimum = late_exact_s(costs)
    assert digits(optimum) == best
    assert digits(slowdown(late(optimum), optimum)) == at_best
    for other in (0.99 * optimum, 1.01 * optimum):
        assert slowdown(late(other), other) > slowdown(late(optimum), optimum)


@pytest.mark.parametrize(
    ("stall", "slow", "wasted"), [(60, 2.91863, 0.657373), (8, 2.83563, 0.647345)]
)
def test_waste_has_all_six_digits_when_saves_are_hourly(
    stall: float, slow: float, wasted: float
) -> None:
    """Two thirds of the paid time, and not the 80 % in rework of the first-order term."""
    costs = Costs(stall_s=stall, mtbi_s=2250, restart_s=300)
    assert digits(slowdown(costs, 3600)) == slow
    assert digits(1 - split(costs, 3600).productive) == wasted
    assert first_order(costs, 3600).rework == pytest.approx(0.8)


def test_hourly_split_is_the_theorys_when_saves_stall_eight_seconds() -> None:
    """Productive 35.3 %, rework 52.2 %, restart 12.5 %, save 0.08 %."""
    parts = split(ASYNC, 3600)
    assert (digits(parts.productive, 3), digits(parts.rework, 3)) == (0.353, 0.522)
    assert (digits(parts.restart, 3), digits(parts.save, 1)) == (0.125, 0.0008)


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ("sync", (0.687856, 0.0794267, 0.107891, 0.124827)),
        ("async", (0.803406, 0.0338746, 0.0378932, 0.124827)),
        ("warm", (0.870319, 0.0366959, 0.0410492, 0.0519361)),
    ],
)
def test_split_has_all_six_digits_when_saves_follow_young(
    row: str, parts: tuple[float, float, float, float]
) -> None:
    """Productive, save, rework, restart."""
    found = split(NAMED[row], young_s(NAMED[row]))
    assert digits(found.productive) == parts[0]
    assert digits(found.save) == parts[1]
    assert digits(found.rework) == parts[2]
    assert digits(found.restart) == parts[3]


@pytest.mark.parametrize(
    ("costs", "interval", "parts"),
    [
        (SYNC, 520, (0.115385, 0.115556, 0.133333, 0.364274)),
        (ASYNC, 190, (0.0421053, 0.0422222, 0.133333, 0.217661)),
        (WARM, 190, (0.0421053, 0.0422222, 0.0533333, 0.137661)),
    ],
)
def test_first_order_has_all_six_digits_when_the_article_rounds(
    costs: Costs, interval: float, parts: tuple[float, float, float, float]
) -> None:
    """The article's own table before it was rounded."""
    terms = first_order(costs, interval)
    assert tuple(map(digits, (terms.save, terms.rework, terms.restart, terms.total))) == parts


@pytest.mark.parametrize(
    ("saved", "interval", "total"),
    [(0.0, 189.737, 0.217661), (0.5, 268.328, 0.192962), (0.9, 600.000, 0.160000)],
)
def test_young_grows_when_notices_leave_time_to_save(
    saved: float, interval: float, total: float
) -> None:
    """What an observed share of emergency saves would allow."""
    assert digits(young_s(ASYNC, saved)) == interval
    assert digits(first_order(ASYNC, interval, saved).total) == pytest.approx(total, abs=1e-6)


def test_progress_is_slow_and_not_none_when_restarts_take_as_long_as_running() -> None:
    """R = M = 600: 1.18278 e, and not the standstill that the first-order terms say."""
    costs = Costs(stall_s=8, mtbi_s=600, restart_s=600)
    assert digits(slowdown(costs, exact_s(costs))) == 3.21513
