"""A bench's last line, read as charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from page.chart import Chart, Row
from page.stored import StoredError


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Where in a bench's last line a chart's figures are.

    A path is keys with dots between them; ``*`` is the first key that holds others, for one that
    the size decides.
    """

    title: str
    ours: Mapping[str, str]
    """Path by name."""
    peers: Mapping[str, str]
    unit: str = "s"
    scale: float = 1.0
    """What a figure is multiplied by: 1e-6 makes seconds of microseconds."""
    target: str | None = None


def chart_of(plot: Plot, result: Mapping[str, Any], source: str) -> Chart:
    """Return a chart. A peer that this run has not measured is left out.

    Raises:
        StoredError: A figure of ours or the target is missing, or no figure.
    """
    rows = []
    for is_ours, paths in ((True, plot.ours), (False, plot.peers)):
        for name, path in paths.items():
            found = at(result, path)
            if found is None and not is_ours:
                continue
            low, middle, high = spread(found, f"{source}: {path}")
            scaled = [figure * plot.scale for figure in (middle, low, high)]
            rows.append(Row(name, scaled[0], scaled[1], scaled[2], is_ours=is_ours))
    target = None
    if plot.target is not None:
        target = spread(at(result, plot.target), f"{source}: {plot.target}")[1] * plot.scale
    return Chart(title=plot.title, unit=plot.unit, rows=tuple(rows), target=target)


def at(result: Mapping[str, Any], path: str) -> object:
    """Return what lies at a path; None where nothing does."""
    found: object = result
    for key in path.split("."):
        if not isinstance(found, Mapping):
            return None
        if key == "*":
            found = next((one for one in found.values() if isinstance(one, Mapping)), None)
        else:
            found = found.get(key)
    return found


def spread(found: object, where: str) -> tuple[float, float, float]:
    """Return the low end, the middle and the high end of a figure.

    An interval has its own; of several values they are the least, the median and the most; a
    number alone is all three.

    Raises:
        StoredError: It is no figure.
    """
    if isinstance(found, Mapping) and isinstance(found.get("ci95"), Sequence):
        low, high = found["ci95"]
        return float(low), float(found.get("median", found.get("value"))), float(high)
    if isinstance(found, Sequence) and not isinstance(found, str) and found:
        values = [float(value) for value in found]
        return min(values), median(values), max(values)
    if isinstance(found, int | float) and not isinstance(found, bool):
        return float(found), float(found), float(found)
    raise StoredError(f"{where} is {found!r}, and no figure: run the bench again")


def intervals(result: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """Return every interval in a last line by its path: what a bench nobody has described shows."""
    found: dict[str, object] = {}
    for key, value in result.items():
        if isinstance(value, Mapping):
            here = f"{prefix}{key}"
            found |= {here: value} if "ci95" in value else intervals(value, f"{here}.")
    return found
