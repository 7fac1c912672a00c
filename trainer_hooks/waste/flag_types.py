"""How values on a command line are read. What makes no sense is refused with what would.

Numbers that nobody means, an age of the universe or the size of an atom, are refused too: of what
is computed with them a float may hold no more, and a plan of infinities is none.
"""

import argparse

LEAST = 1e-9
MOST = 1e18
MOST_THINGS = 10**9


def positive(text: str) -> float:
    """Read a number above 0."""
    return _number(text, LEAST, f"a number from {LEAST:g} to {MOST:g}")


def not_negative(text: str) -> float:
    """Read a number from 0 on."""
    value = _number(text, 0.0, f"0 or a number from {LEAST:g} to {MOST:g}")
    return value if value >= LEAST else 0.0


def percent(text: str) -> float:
    """Read a percentage, with or without its sign, as a fraction."""
    meant = "a percentage from 0.000001 to below 100"
    value = _number(text.removesuffix("%"), 1e-6, meant)
    if value >= 100:
        raise _refused(text, meant)
    return value / 100


def count(text: str) -> int:
    """Read a number of things, at least one."""
    return _whole(text, 1)


def whole(text: str) -> int:
    """Read a whole number from 0 on."""
    return _whole(text, 0)


def _number(text: str, least: float, meant: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _refused(text, meant) from None
    if not least <= value <= MOST:  # nan is neither
        raise _refused(text, meant)
    return value


def _whole(text: str, least: int) -> int:
    meant = f"a whole number from {least} to {MOST_THINGS}"
    try:
        value = int(text)
    except ValueError:
        raise _refused(text, meant) from None
    if not least <= value <= MOST_THINGS:
        raise _refused(text, meant)
    return value


def _refused(text: str, meant: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"{text[:40]!r} is not {meant}")
