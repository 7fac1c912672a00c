"""What a chart shows, and how its figures are written."""

from dataclasses import dataclass

SECOND_PARTS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its median, and from where to where it may lie."""

    name: str
    median: float
    low: float
    high: float
    is_ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Figures of one kind beside each other."""

    title: str
    unit: str
    """``s`` for any time; else what is written behind a figure."""
    rows: tuple[Row, ...]
    target: float | None = None
    target_label: str = ""
    """Instead of the target's figure."""

    def times(self, row: Row) -> float | None:
        """Return how many times ours a peer's figure is, where there is one of ours to compare."""
        ours = [one.median for one in self.rows if one.is_ours]
        if row.is_ours or self.unit == "times" or not ours or ours[0] <= 0:
            return None
        return row.median / ours[0]


def words(value: float, unit: str) -> str:
    """Return a figure as people write it, with three digits that count."""
    if unit == "s" and value:
        size, unit = next((part for part in SECOND_PARTS if value >= part[0]), SECOND_PARTS[-1])
        value /= size
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{digits} {unit}" if unit else digits
