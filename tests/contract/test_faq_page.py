"""docs/faq.md has the figures of the tested theory."""

from pathlib import Path

import pytest

from trainer_hooks.waste.interval import Costs, exact_s, slowdown, split, young_s

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "faq.md").read_text().split())

PRICE = 0.4
"""Of spot to on demand, at 60 % off."""

SYNC = Costs(stall_s=60, mtbi_s=2250, restart_s=300)
ASYNC = Costs(stall_s=8, mtbi_s=2250, restart_s=300)
WARM = Costs(stall_s=8, mtbi_s=2250, restart_s=120)


def saving(costs: Costs) -> str:
    """Return what of the on-demand price is saved, at the best interval."""
    return f"{100 * (1 - PRICE * slowdown(costs, exact_s(costs))):.0f} %"


def test_saving_is_the_exact_one() -> None:
    """For three kinds of saves and restarts."""
    assert f"the example saves {saving(SYNC)} with saves" in PAGE
    assert f"minute, {saving(ASYNC)} with asynchronous ones" in PAGE
    assert f"and {saving(WARM)} if a restart takes two minutes" in PAGE


def test_break_even_is_where_the_waste_reaches_the_discount() -> None:
    """A waste of a third of what is paid is a slowdown of 1.5."""
    assert "60 % off, 60 % of the time" in PAGE
    assert f"still saves {100 * (1 - 1.5 * PRICE):.0f} %" in PAGE


def test_interval_is_the_exact_one_beside_the_approximation() -> None:
    """And what it costs to be a quarter off."""
    assert (
        f"{exact_s(ASYNC):.0f} s in the example (the approximation says {young_s(ASYNC):.0f})"
        in PAGE
    )
    assert f"1.25 times off costs {100 * ((1.25 + 1 / 1.25) / 2 - 1):.1f} %" in PAGE
    assert f"at 0.98 TB and 4 GB/s that is {0.98e12 / 4e9:.0f} s" in PAGE


def test_hourly_saves_cost_more_than_on_demand() -> None:
    """Shares of the paid time, exact."""
    parts = split(ASYNC, 3600)
    assert f"{100 * parts.rework:.0f} % of what is paid for would be work done twice" in PAGE
    assert f"and {100 * parts.productive:.0f} % would last" in PAGE
    assert slowdown(ASYNC, 3600) * PRICE > 1


def test_late_commit_costs_what_the_page_says() -> None:
    """A save that counts only when the next is due has an interval as its lag."""
    interval = young_s(ASYNC)
    late = Costs(stall_s=8, mtbi_s=2250, restart_s=300, commit_lag_s=interval)
    more = slowdown(late, interval) / slowdown(ASYNC, interval) - 1
    assert f"{100 * more:.1f} % more paid hours" in PAGE
    assert more == pytest.approx(0.088, abs=5e-4)
