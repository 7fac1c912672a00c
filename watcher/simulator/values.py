"""Values from outside (flags, scenario files, control messages), checked one by one.

Every reader takes what the value is called and the value, and raises ScenarioError with one line
that says what it should have been.
"""

import difflib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

Word = TypeVar("Word", bound=StrEnum)

LONGEST_S = 366 * 86_400
"""Longer times than a year are mistakes, and would leave the range of a date."""


class ScenarioError(ValueError):
    """Raised when a scenario or a fault contradicts itself; the message is one line for a user."""


def seconds(what: str, value: object) -> float:
    """Return ``value`` as seconds.

    Raises:
        ScenarioError: It is not a number from 0 to a year.
    """
    return _number_of_seconds(what, value, least=0)


def signed_seconds(what: str, value: object) -> float:
    """Return ``value`` as seconds, negative ones before the moment that they count from.

    Raises:
        ScenarioError: It is not a number, or further than a year away.
    """
    return _number_of_seconds(what, value, least=-LONGEST_S)


def _number_of_seconds(what: str, value: object, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f"{what} must be a number of seconds, not {value!r}")
    if not math.isfinite(value) or not least <= value <= LONGEST_S:
        raise ScenarioError(f"{what} must be {least} to {LONGEST_S} s, not {value}")
    return float(value)


def whole(what: str, value: object, least: int, most: int) -> int:
    """Return ``value`` as a whole number from ``least`` to ``most``.

    Raises:
        ScenarioError: It is not one.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ScenarioError(f"{what} must be a whole number from {least} to {most}, not {value!r}")
    return value


def yes_or_no(what: str, value: object) -> bool:
    """Return ``value`` as a truth.

    Raises:
        ScenarioError: It is neither true nor false.
    """
    if not isinstance(value, bool):
        raise ScenarioError(f"{what} must be true or false, not {value!r}")
    return value


def text(what: str, value: object) -> str:
    """Return ``value`` as text that fits on a line and is not blank.

    Raises:
        ScenarioError: It is not such a text.
    """
    if not isinstance(value, str) or not value.isprintable() or not value.strip():
        raise ScenarioError(f"{what} must be printable text, not {value!r}")
    return value


def one_of(what: str, value: object, words: type[Word]) -> Word:
    """Return the word of ``words`` that ``value`` is.

    Raises:
        ScenarioError: It is none of them.
    """
    for word in words:
        if word == value:
            return word
    raise ScenarioError(f"{what} must be one of {', '.join(words)}, not {value!r}")


def table(what: str, value: object) -> Mapping[str, object]:
    """Return ``value`` as named values.

    Raises:
        ScenarioError: It is not an object of JSON or a table of TOML.
    """
    if not isinstance(value, dict):
        raise ScenarioError(f"{what} must be a table or JSON object, not {value!r:.80}")
    return value


def entries(what: str, value: object) -> Sequence[object]:
    """Return ``value`` as a list.

    Raises:
        ScenarioError: It is not one.
    """
    if not isinstance(value, list):
        raise ScenarioError(f"{what} must be a list, not {value!r:.80}")
    return value


def refuse_unknown(what: str, given: Iterable[str], known: Collection[str]) -> None:
    """Pass names that are all ``known``.

    Raises:
        ScenarioError: One is not; the message has the nearest that is, and all of them.
    """
    for name in given:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
            hint = f"; the nearest known one is {nearest[0]}" if nearest else ""
            listed = ", ".join(known) or "none"
            raise ScenarioError(f"unknown {what} {name!r}{hint}; known: {listed}")
