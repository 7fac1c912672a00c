"""What is taken for a number, a word or a list, and what is not."""

import math
from enum import StrEnum

import pytest

from watcher.simulator.values import (
    LONGEST_S,
    ScenarioError,
    entries,
    one_of,
    refuse_unknown,
    seconds,
    signed_seconds,
    table,
    text,
    whole,
    yes_or_no,
)


class Colour(StrEnum):
    """Two words."""

    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize("value", [-1, -0.001, math.nan, math.inf, 1e300, True, None, "5", [5]])
def test_seconds_are_refused_when_no_length_of_time(value: object) -> None:
    """Only numbers from 0 to a year are seconds, and the message says what was meant by them."""
    with pytest.raises(ScenarioError, match="the window must be"):
        seconds("the window", value)


def test_signed_seconds_reach_back_a_year_and_no_further() -> None:
    """Before and after a moment alike."""
    assert signed_seconds("x", -LONGEST_S) == -LONGEST_S
    with pytest.raises(ScenarioError, match="x must be -31622400 to 31622400 s"):
        signed_seconds("x", -LONGEST_S - 1)


@pytest.mark.parametrize("value", [0, 4, 2.0, True, "2", None])
def test_whole_is_refused_when_out_of_range_or_no_number(value: object) -> None:
    """A float that happens to be whole is a mistake as well."""
    assert whole("x", 3, 1, 3) == 3
    with pytest.raises(ScenarioError, match="x must be a whole number from 1 to 3, not"):
        whole("x", value, 1, 3)


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_yes_or_no_is_refused_when_it_is_neither(value: object) -> None:
    """No guessing."""
    assert yes_or_no("x", value=True) is True
    with pytest.raises(ScenarioError, match="x must be true or false"):
        yes_or_no("x", value)


@pytest.mark.parametrize("value", ["", " ", "a\nb", "\ud800", None, 5])
def test_text_is_refused_when_it_does_not_fit_on_a_line(value: object) -> None:
    """It ends up in line-based answers."""
    with pytest.raises(ScenarioError, match="x must be printable text"):
        text("x", value)


@pytest.mark.parametrize("value", ["RED", "", None, 3, ["red"]])
def test_one_of_lists_the_words_when_it_refuses(value: object) -> None:
    """All that there are."""
    assert one_of("x", "red", Colour) is Colour.RED
    with pytest.raises(ScenarioError, match="x must be one of red, blue, not"):
        one_of("x", value, Colour)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"colour": 1}, "unknown key 'colour'; the nearest known one is color; known: color, size"),
        ({"color": 1, "zzz": 1}, "unknown key 'zzz'; the nearest known one is"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_known(
    given: dict[str, object], message: str
) -> None:
    """Nothing alike still gets a hint, and the whole list."""
    refuse_unknown("key", {"color": 1}, ("color", "size"))
    with pytest.raises(ScenarioError, match=message):
        refuse_unknown("key", given, ("color", "size"))


@pytest.mark.parametrize("value", [None, [], "x", 5])
def test_table_is_refused_when_it_has_no_names(value: object) -> None:
    """Named values only."""
    with pytest.raises(ScenarioError, match="x must be a table or JSON object"):
        table("x", value)


@pytest.mark.parametrize("value", [None, {}, "x", 5])
def test_entries_are_refused_when_no_list(value: object) -> None:
    """A text is no list of letters."""
    with pytest.raises(ScenarioError, match="x must be a list"):
        entries("x", value)
