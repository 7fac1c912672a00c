"""Quantiles of the Gamma distribution, against closed forms."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.waste.gamma import chi_square_quantile, gamma_below, gamma_quantile


@pytest.mark.parametrize("chance", [1e-6, 0.05, 0.5, 0.95, 0.999999])
def test_quantile_is_the_closed_form_when_there_is_one(chance: float) -> None:
    """Shape 1 is exponential; half of shape 1/2 is a squared normal."""
    assert gamma_quantile(chance, 1) == pytest.approx(-math.log1p(-chance), rel=1e-9)
    normal = NormalDist().inv_cdf((1 + chance) / 2)
    assert chi_square_quantile(chance, 1) == pytest.approx(normal**2, rel=1e-7)


@pytest.mark.parametrize("shape", [1, 2, 5, 30])
@pytest.mark.parametrize("value", [0.1, 1.0, 4.0, 20.0, 90.0])
def test_chance_is_the_poisson_sum_when_the_shape_is_whole(shape: int, value: float) -> None:
    """P(a, x) = 1 - sum of e^-x x^k / k! for k < a: on both branches."""
    terms = [math.exp(-value + k * math.log(value) - math.lgamma(k + 1)) for k in range(shape)]
    assert gamma_below(shape, value) == pytest.approx(1 - math.fsum(terms), abs=1e-13)
    assert gamma_below(shape, 0) == 0


@given(chance=st.floats(1e-6, 1 - 1e-6), shape=st.floats(0.1, 1e5))
def test_quantile_inverts_the_chance_when_the_shape_is_any(chance: float, shape: float) -> None:
    """From half an event to a hundred thousand."""
    assert gamma_below(shape, gamma_quantile(chance, shape)) == pytest.approx(chance, rel=1e-8)
