"""How values on a command line are read. What is none is argparse's to complain of."""

import math


def positive(text: str) -> float:
    """Read a number above 0."""
    if not 0 < (value := float(text)) < math.inf:
        raise ValueError(text)
    return value


def not_negative(text: str) -> float:
    """Read a number from 0 on."""
    if not 0 <= (value := float(text)) < math.inf:
        raise ValueError(text)
    return value


def percent(text: str) -> float:
    """Read a percentage, with or without its sign, as a fraction."""
    if not 0 < (value := float(text.removesuffix("%"))) < 100:
        raise ValueError(text)
    return value / 100


def count(text: str) -> int:
    """Read a number of things, at least one."""
    if (value := int(text)) < 1:
        raise ValueError(text)
    return value


def whole(text: str) -> int:
    """Read a whole number from 0 on."""
    if (value := int(text)) < 0:
        raise ValueError(text)
    return value
