"""Values on a command line: read, or refused with what would make sense."""

import argparse
import math
from collections.abc import Callable

import pytest

from trainer_hooks.waste.flag_types import count, not_negative, percent, positive, whole

NONSENSE = ["", "abc", "nan", "inf", "-inf", "-1", "1e308", "1e400", "1,5", "0x10", "9" * 5000]


@pytest.mark.parametrize("read", [positive, not_negative, percent, count, whole])
@pytest.mark.parametrize("text", NONSENSE)
def test_value_is_refused_when_nobody_can_mean_it(read: Callable[[str], float], text: str) -> None:
    """With what would make sense, in one short line."""
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not (a |0 or )") as refused:
        read(text)
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize("text", ["0", "-0.0", "5e-324", "1e-10"])
def test_next_to_nothing_is_nothing_when_nothing_is_allowed(text: str) -> None:
    """And is refused where it is not."""
    assert math.copysign(1, not_negative(text)) == 1
    assert not_negative(text) == 0
    with pytest.raises(argparse.ArgumentTypeError):
        positive(text)


def test_values_are_read_when_they_are_meant() -> None:
    """With the sign of a percentage or without."""
    assert (positive("1e-9"), positive("1e18"), not_negative("8")) == (1e-9, 1e18, 8)
    assert (percent("2%"), percent("2"), percent("99.5%")) == (0.02, 0.02, 0.995)
    assert (count("1"), whole("0"), whole("1000000000")) == (1, 0, 10**9)
