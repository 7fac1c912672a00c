"""The worked example, as it is told and as it is: theory parts 1, 2.1 and 2.2 (2026-11-30)."""

import pytest

from trainer_hooks.waste.article import rows
from trainer_hooks.waste.article_text import article_text


@pytest.mark.parametrize(
    ("row", "told", "hours", "saved"),
    [
        (0, (520, 0.115385, 0.115556, 0.133333, 0.364274), 136_000, 45.6),
        (1, (190, 0.0421053, 0.0422222, 0.133333, 0.217661), 122_000, 51.2),
        (2, (190, 0.0421053, 0.0422222, 0.0533333, 0.137661), 114_000, 54.4),
    ],
)
def test_table_is_the_articles_when_it_is_told(
    row: int, told: tuple[float, ...], hours: float, saved: float
) -> None:
    """T, C/T, T/2M, R/M, their sum; paid hours and what is saved."""
    found = rows()[row]
    terms = found.told
    values = (found.told_interval_s, terms.save, terms.rework, terms.restart, terms.total)
    assert tuple(float(f"{value:.6g}") for value in values) == told
    assert found.told_paid_gpu_hours == pytest.approx(hours)
    assert found.told_saving_fraction * 100 == pytest.approx(saved, abs=0.01)


@pytest.mark.parametrize(
    ("row", "slow", "wasted", "hours", "cost", "saved"),
    [
        (0, 1.45283, 0.311689, 145_283, 232_453, 41.8867),
        (1, 1.24466, 0.196568, 124_466, 199_146, 50.2136),
        (2, 1.14897, 0.129653, 114_897, 183_835, 54.0413),
    ],
)
def test_table_is_exact_when_it_is_corrected(  # noqa: PLR0913, PLR0917 - the table's columns
    row: int, slow: float, wasted: float, hours: float, cost: float, saved: float
) -> None:
    """Slowdown, waste, hours, cost at 1.60, and what is saved against 400,000."""
    found = rows()[row]
    assert float(f"{found.exact_slowdown:.6g}") == slow
    assert float(f"{1 - found.exact.productive:.6g}") == wasted
    assert round(found.exact_paid_gpu_hours) == hours
    assert round(found.exact_paid_gpu_hours * 1.60) == cost
    assert float(f"{found.exact_saving_fraction * 100:.6g}") == saved


def test_article_is_readable_when_it_is_said() -> None:
    """Both tables, and why they differ."""
    said = article_text(rows())
    assert "async                   190 s   4.2 %   4.2 %  13.3 %  21.8 %   122,000  51.2 %" in said
    assert "async                   184 s   3.5 %   3.7 %  12.5 %  19.7 %   124,466  50.2 %" in said
    assert max(map(len, said.splitlines())) <= 100
