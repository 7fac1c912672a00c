"""How figures are said."""

import pytest

from trainer_hooks.waste.words import amount, bar, duration, share, size


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.25, "0.25 s"), (8, "8 s"), (119, "119 s"), (184.4, "3.07 min"),
     (7200, "2 h"), (40 * 3600, "40 h"), (604_800, "7 d"), (1e8, "1,157 d")],
)  # fmt: skip
def test_duration_has_a_unit_of_its_own_when_it_is_said(seconds: float, words: str) -> None:
    """Two of a unit at the least."""
    assert duration(seconds) == words


def test_other_figures_are_short_when_they_are_said() -> None:
    """Sizes, shares, amounts and bars."""
    assert [size(number) for number in (980e9, 3.08e15, 1e3, 12)] == [
        "980 GB", "3.08 PB", "1 kB", "12 B",
    ]  # fmt: skip
    assert (share(0.1966), amount(199_145.7), amount(1.994)) == ("19.7 %", "199,146", "1.99")
    assert (len(bar(0.5)), bar(-0.1), len(bar(1))) == (20, "", 40)
