"""How figures are said to people: durations, sizes, shares and bars."""

from trainer_hooks.waste.estimate import Dispersion

_TIMES = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_SIZES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))

BAR = 40
"""Characters that stand for all."""


def duration(seconds: float) -> str:
    """Say a duration in its own unit, with three digits."""
    for unit_s, name in _TIMES:
        if seconds >= 2 * unit_s or unit_s == 1:
            return f"{digits(seconds / unit_s)} {name}"
    raise AssertionError("unreachable")


def size(number: float) -> str:
    """Say a number of bytes."""
    for unit, name in _SIZES:
        if number >= unit:
            return f"{digits(number / unit)} {name}"
    return f"{number:.0f} B"


def share(fraction: float) -> str:
    """Say a part of a whole."""
    return f"{100 * fraction:.1f} %"


def amount(value: float) -> str:
    """Say a number of hours, or money, without digits that nobody believes."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def digits(value: float) -> str:
    """Say three digits, and all of a larger whole part."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def regularity(found: Dispersion) -> str:
    """Say whether interruptions come at random."""
    how = "cluster" if found.is_over_dispersed else "come at random"
    return (
        f"interruptions {how}: CV of gaps {digits(found.gaps_cv)}, Fano factor {digits(found.fano)}"
    )


def bar(fraction: float) -> str:
    """Draw a part of a whole."""
    return "█" * round(BAR * max(0.0, fraction))
