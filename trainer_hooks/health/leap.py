"""Whether a loss or gradient norm leaps away from what it was; pure.

By the median of the last values and how far they lie from it, which a few wild ones don't move. A
value counts by its inverse hyperbolic sine: linear near the usual, like a logarithm far above it,
where losses and norms have their long tails, and for any sign.
"""

import math
from collections import deque
from collections.abc import Sequence
from statistics import median

WINDOW = 128
"""Values that a new one is held against."""

WARM = 32
"""Values before the first verdict: a loss falls fast in the beginning, and nobody knows how."""

FAR = 12.0
"""Deviations from the median that are a leap. Of 10,000 values with a normal or lognormal spread
none comes to half of that."""

LEAST = 0.02
"""Least deviation, as a part of the usual value: a loss that has stood still may move a little."""

STAYS = 8
"""Values that are away, one after the other, until it is no chance batch any more."""

_SIGMA = 1.4826
"""Median distances from the median in one standard deviation of a normal distribution."""


class Leaps:
    """Follows one figure. One thread has it."""

    def __init__(self) -> None:
        self._values: deque[float] = deque(maxlen=WINDOW)
        self.away = 0
        """Values by now that have been away, one after the other."""

    def look(self, value: float) -> str | None:
        """Take in the next value; say what is wrong with it, once until all is well again."""
        wrong = self._wrong(value)
        if math.isfinite(value):
            self._values.append(value)
        self.away = 0 if wrong is None else self.away + 1
        return wrong if self.away == 1 else None

    def _wrong(self, value: float) -> str | None:
        if not math.isfinite(value):
            return f"is {value}"
        if len(self._values) < WARM:
            return None
        usual = median(self._values)
        far = _deviations(value, self._values)
        return f"is {value:.6g}, and was about {usual:.6g} before" if far > FAR else None


def _deviations(value: float, before: Sequence[float]) -> float:
    """Return by how many deviations a value is above those before it."""
    scale = median(abs(one) for one in before) or 1.0
    bent = [math.asinh(one / scale) for one in before]
    middle = median(bent)
    spread = _SIGMA * median(abs(one - middle) for one in bent)
    return (math.asinh(value / scale) - middle) / max(spread, LEAST)
