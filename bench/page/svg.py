"""A chart as SVG: a dot for each median, a line for its spread, a dashed line for the target.

Drawn by hand and not by matplotlib: the same results give the same bytes, so a test can hold the
committed picture against them, and its text follows a reader's light or dark page. Dots and not
bars, because most axes are logarithmic, where the length of a bar means nothing.
"""

import math
from collections.abc import Sequence
from html import escape

from page.chart import Chart, Row, words

WIDTH, LEFT, RIGHT = 860, 290, 640
"""Names stand left of the axis, figures right of it."""
TOP, ROW, FOOT = 58, 28, 34
WIDE = 20.0
"""From this ratio of the largest to the smallest on, an axis is logarithmic."""

STYLE = """
.ground { fill: #ffffff; } .ink { fill: #16222e; } .faint { fill: #45586b; }
.rule { stroke: #d5dde5; } .goal { stroke: #16222e; stroke-dasharray: 5 4; }
.ours { fill: #0072b2; stroke: #0072b2; } .peer { fill: #b35900; stroke: #b35900; }
text { font: 14px system-ui, sans-serif; stroke: none; } .small { font-size: 12px; }
.bold { font-weight: 600; } .end { text-anchor: end; } .middle { text-anchor: middle; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #14181e; } .ink { fill: #e8eef4; } .faint { fill: #b4c2cf; }
  .rule { stroke: #35414d; } .goal { stroke: #e8eef4; }
  .ours { fill: #56b4e9; stroke: #56b4e9; } .peer { fill: #f0a03c; stroke: #f0a03c; }
}
"""
"""Blue and orange, which every colour vision tells apart; what is ours is bold, too."""


class Axis:
    """Where a value lies, and which ones are written below."""

    def __init__(self, values: Sequence[float]) -> None:
        above = [value for value in values if value > 0]
        self.is_log = len(above) == len(values) and max(above) / min(above) > WIDE
        if self.is_log:
            self.low: float = math.floor(math.log10(min(above)))
            self.high: float = max(self.low + 1, math.ceil(math.log10(max(above))))
        else:
            self.low, self.high = 0, max(above, default=1.0) * 1.1

    def x(self, value: float) -> float:
        """Return where a value lies, in pixels."""
        at = math.log10(value) if self.is_log else value
        share = (at - self.low) / (self.high - self.low)
        return round(LEFT + min(1.0, max(0.0, share)) * (RIGHT - LEFT), 1)

    def ticks(self) -> list[float]:
        """Return the values to write: decades, or a few round ones from 0."""
        if self.is_log:
            step = max(1, math.ceil((self.high - self.low) / 5))
            return [10.0**power for power in range(int(self.low), int(self.high) + 1, step)]
        decade = 10 ** math.floor(math.log10(self.high))
        step = next(
            decade * part for part in (0.1, 0.2, 0.5, 1.0, 2.0) if self.high / (decade * part) <= 6
        )
        return [step * number for number in range(int(self.high / step) + 1)]


def svg(chart: Chart) -> str:
    """Return a chart as a document of its own, which an HTML page can hold too."""
    values = [value for row in chart.rows for value in (row.median, row.low, row.high)]
    axis = Axis([*values, *([] if chart.target is None else [chart.target])])
    bottom = TOP + ROW * len(chart.rows)
    height = bottom + FOOT
    told = f"{chart.title}: " + "; ".join(f"{row.name} {said(chart, row)}" for row in chart.rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(told)}</title><style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
        f'<text class="ink bold" x="12" y="22">{escape(chart.title)}</text>',
    ]
    for tick in axis.ticks():
        x = axis.x(tick)
        parts.append(f'<path class="rule" d="M{x} {TOP - 8}V{bottom}"/>')
        label = escape(words(tick, "s" if chart.unit == "s" else ""))
        parts.append(f'<text class="faint small middle" x="{x}" y="{bottom + 18}">{label}</text>')
    if chart.target is not None:
        x = axis.x(chart.target)
        label = escape(chart.target_label or f"target {words(chart.target, chart.unit)}")
        parts.append(f'<path class="goal" d="M{x} {TOP - 8}V{bottom}"/>')
        parts.append(f'<text class="ink small middle" x="{x}" y="{TOP - 14}">{label}</text>')
    for number, row in enumerate(chart.rows):
        parts += _row(chart, row, axis, TOP + ROW * number + ROW // 2)
    return "\n".join([*parts, "</svg>\n"])


def said(chart: Chart, row: Row) -> str:
    """Return a row's figure, and how many times ours it is."""
    figure = words(row.median, chart.unit)
    times = chart.times(row)
    return figure if times is None else f"{figure}, {words(times, 'times')} ours"


def _row(chart: Chart, row: Row, axis: Axis, y: int) -> list[str]:
    who, weight = ("ours", " bold") if row.is_ours else ("peer", "")
    spread = ""
    if row.low < row.high:
        spread = (
            f'<path class="{who}" stroke-width="3" d="M{axis.x(row.low)} {y}H{axis.x(row.high)}"/>'
        )
    return [
        f'<text class="ink end{weight}" x="{LEFT - 14}" y="{y + 5}">{escape(row.name)}</text>',
        spread + f'<circle class="{who}" cx="{axis.x(row.median)}" cy="{y}" r="5.5"/>',
        f'<text class="ink{weight}" x="{RIGHT + 18}" y="{y + 5}">{escape(said(chart, row))}</text>',
    ]
