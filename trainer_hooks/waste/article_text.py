"""The worked example in words, as it is told and as it is."""

from collections.abc import Iterable, Iterator, Sequence

from trainer_hooks.waste.article import MTBI_S, Row
from trainer_hooks.waste.words import share

_COLUMNS = ("save", "rework", "restart", "sum")


def article_text(rows: Sequence[Row]) -> str:
    """Say the worked example."""
    return "\n".join(_lines(rows))


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    yield f"64 nodes that last 40 h each: M = {MTBI_S:.0f} s"
    yield "100,000 productive GPU-hours at 1.60 each, or at 4.00 on demand"
    yield ""
    yield "as it is told: first order, Young's interval rounded, hours = 1 + the rounded sum"
    yield _head()
    for row in rows:
        told = row.told
        yield _row(
            row.name,
            row.told_interval_s,
            (told.save, told.rework, told.restart, told.total),
            f"{row.told_paid_gpu_hours:>10,.0f}{share(row.told_saving_fraction):>8}",
        )
    yield ""
    yield "exact, as parts of the paid time: with what is productive they make 100 %"
    yield _head()
    for row in rows:
        exact = row.exact
        yield _row(
            row.name,
            row.exact_interval_s,
            (exact.save, exact.rework, exact.restart, 1 - exact.productive),
            f"{row.exact_paid_gpu_hours:>10,.0f}{share(row.exact_saving_fraction):>8}",
        )
    yield ""
    yield "The terms of the first table are no parts of one whole: C/T is per productive second,"
    yield "the others are per second of running. Their sum is too high as a part of the paid time,"
    yield "and too low as what the productive hours are to be multiplied with, less 1."


def _head() -> str:
    names = "".join(f"{name:>8}" for name in _COLUMNS)
    return f"  {'':<22}{'T':>7}{names}{'hours':>10}{'saved':>8}"


def _row(name: str, interval_s: float, parts: Iterable[float], end: str) -> str:
    return f"  {name:<22}{interval_s:>5.0f} s" + "".join(f"{share(x):>8}" for x in parts) + end
