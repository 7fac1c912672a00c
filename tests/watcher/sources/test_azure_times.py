"""The ways in which Azure writes an instant."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watcher.sources.azure_times import instant

AT = datetime(2026, 11, 30, 18, 29, 47, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 30 Nov 2026 18:29:47 GMT",
        "Mon, 30 Nov 2026 18:29:47 UTC",
        "Mon, 30 Nov 2026 18:29:47 +0000",
        " 30 Nov 2026 18:29:47 GMT\n",
        "Mon, 30 Nov 2026 19:29:47 +0100",
        "Monday, 30-Nov-26 18:29:47 GMT",
        "30 Nov 26 18:29:47 +0000",
        "2026-11-30T18:29:47Z",
        "2026-11-30t18:29:47z",
        "2026-11-30 18:29:47",
        "2026-11-30T18:29:47",
        "2026-11-30T19:29:47+01:00",
    ],
)
def test_instant_is_read_when_written_in_any_of_the_ways(text: str) -> None:
    """All of these are one."""
    assert instant(text) == AT


def test_instant_has_its_fraction_when_written_with_one() -> None:
    """The mock server of Azure's samples does."""
    assert instant("2026-11-30T18:29:47.250000") == AT.replace(microsecond=250_000)


@pytest.mark.parametrize(
    "value",
    [
        *(None, 5, 1.5, True, [], {}, "", " ", "soon", "2026-11-30", "18:29:47", "1796063387"),
        *("Mon, 30 Nov 2026", "Mon, 30 Nov 2026 18:29:47", "Mon, 30 Nov 2026 18:29:47 PST"),
        *("Mon, 31 Nov 2026 18:29:47 GMT", "Mon, 30 Nov 2026 25:29:47 GMT"),
        *("Mon, 30 Dez 2026 18:29:47 GMT", "Mon, 30 nov 2026 18:29:47 GMT"),
        *("Mon, ٣٠ Nov 2026 18:29:47 GMT", "Sun, 30 Nov 1969 18:29:47 GMT"),
        *("30 Nov 2026 18:29:47 +9999", "2026-13-30T18:29:47Z", "2026-11-30T18:29:47Z\0"),
    ],
)
def test_value_is_no_instant_when_it_is_anything_else(value: object) -> None:
    """Neither guessed nor raised."""
    assert instant(value) is None


def test_instant_is_cut_when_beyond_what_can_be_reckoned_with() -> None:
    """A window can still be added to it."""
    assert instant("Fri, 31 Dec 9999 23:59:59 GMT") == datetime(2200, 1, 1, tzinfo=UTC)


@given(st.text(alphabet="0123456789 ,:-+TZGMUCNovDecMonTue.", max_size=40))
def test_instant_is_aware_or_none_when_the_text_is_anything(text: str) -> None:
    """Nothing is raised, and nothing naive comes out."""
    read = instant(text)
    assert read is None or read.tzinfo is UTC
