"""Quantiles of the Gamma distribution, so that an estimate needs no SciPy.

Source: NIST Digital Library of Mathematical Functions, 8.7.1 (series) and 8.9.2 (continued
fraction), https://dlmf.nist.gov/8 (read 2026-11-30).
"""

import math

TINY = 1e-300
CLOSE = 1e-15


def gamma_quantile(chance: float, shape: float) -> float:
    """Return what a Gamma variable of scale 1 exceeds with the chance 1 - ``chance``.

    Args:
        chance: In (0, 1).
        shape: Positive.
    """
    # P(a, x) <= x^a / Gamma(a + 1), so the quantile is not below this:
    low = math.exp((math.log(chance) + math.lgamma(shape + 1)) / shape)
    high = max(2 * low, shape)
    while gamma_below(shape, high) < chance:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high and high - low > CLOSE * high:
        low, high = (middle, high) if gamma_below(shape, middle) < chance else (low, middle)
    return high


def chi_square_quantile(chance: float, degrees: int) -> float:
    """Return the quantile of the chi-square distribution."""
    return 2 * gamma_quantile(chance, degrees / 2)


def gamma_below(shape: float, value: float) -> float:
    """Return the chance that a Gamma variable of scale 1 is at most ``value``: P(a, x)."""
    if value <= 0:
        return 0.0
    front = math.exp(shape * math.log(value) - value - math.lgamma(shape))
    if value < shape + 1:
        return front * _series(shape, value)
    return 1 - front * _fraction(shape, value)


def _series(shape: float, value: float) -> float:
    term = total = 1 / shape
    over = shape
    while term > CLOSE * total:
        over += 1
        term *= value / over
        total += term
    return total


def _fraction(shape: float, value: float) -> float:
    """Evaluate the continued fraction by Lentz's method, as modified by Thompson and Barnett."""
    bottom = value + 1 - shape
    ratio = 1 / TINY
    inverse = result = 1 / bottom
    number, factor = 0, math.inf
    while abs(factor - 1) > CLOSE:
        number += 1
        above = number * (shape - number)
        bottom += 2
        inverse = 1 / (above * inverse + bottom or TINY)
        ratio = bottom + above / ratio or TINY
        factor = inverse * ratio
        result *= factor
    return result
