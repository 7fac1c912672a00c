"""The ways in which AWS writes a time, and those in which nobody should."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watcher.notice import Deadline, Moment
from watcher.sources.aws_times import any_instant
from watcher.sources.times import rfc3339_instant

AT = datetime(2026, 12, 5, 9, 0, 43, tzinfo=UTC)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-05T09:00:43Z",
        "2026-12-05t09:00:43z",
        "2026-12-05T09:00:43.000Z",
        "2026-12-05T10:00:43+01:00",
        "2026-12-05 09:00:43",
        "2026-12-05T09:00:43",
        "2026-12-05 09:00:43 +0000",
        "2026-12-05T11:00:43+02",
        "5 Dec 2026 09:00:43 GMT",
        "05 Dec 2026 09:00:43 GMT",
        "Sat, 05 Dec 2026 09:00:43 GMT",
        "Sat, 5 Dec 2026 09:00:43 UTC",
        "Sat, 5 Dec 2026 09:00:43 +0000",
        " 5 Dec 2026 09:00:43 GMT\n",
    ],
)
def test_instant_is_read_when_written_in_any_of_awss_ways(text: str) -> None:
    """Aware, and in UTC."""
    assert any_instant(text) == AT


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        True,
        "",
        "2026-12-05",
        "09:00:43",
        "2026-13-05T09:00:43Z",
        "2026-12-32T09:00:43Z",
        "2026-12-05T24:00:43Z",
        "2026-12-05T09:00:60Z",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+23:59",
        "5 dec 2026 09:00:43 GMT",
        "5 Dez 2026 09:00:43 GMT",
        "31 Nov 2026 09:00:43 GMT",
        "5 Dec 2026 09:00 GMT",
        "5 Dec 2026 09:00:43",
        "5 Dec 2026 09:00:43 EST",
        "5 Dec 26 09:00:43 GMT",
        "0 Dec 2026 09:00:43 GMT",
        "5 Dec 0000 09:00:43 GMT",
        "\u0665 Dec 2026 09:00:43 GMT",
        "Sat 5 Dec 2026 09:00:43 GMT",
    ],
)
def test_instant_is_none_when_nobody_writes_it_so(value: object) -> None:
    """A time that had to be guessed would be worse than none."""
    assert any_instant(value) is None


def test_rfc3339_is_all_that_is_taken_when_asked_for() -> None:
    """Where AWS has one format, another is odd."""
    assert rfc3339_instant("2026-12-05T09:00:43Z") == AT
    assert rfc3339_instant("2026-12-05T09:00:43") is None
    assert rfc3339_instant("5 Dec 2026 09:00:43 GMT") is None


@pytest.mark.parametrize(("number", "name"), list(enumerate(MONTHS, start=1)))
def test_months_are_english_when_spelt(number: int, name: str) -> None:
    """All twelve, from a table of our own."""
    read = any_instant(f"1 {name} 2026 00:00:00 GMT")
    assert read == datetime(2026, number, 1, tzinfo=UTC)


@given(st.datetimes(timezones=st.just(UTC)))
def test_instant_makes_a_deadline_when_it_is_extreme(at: datetime) -> None:
    """However far it is, arithmetic with it stays within what a datetime can hold."""
    seen = Moment(datetime(2026, 11, 30, 10, 5, 6, 123_457, tzinfo=UTC), 5.0)
    read = rfc3339_instant(at.isoformat())
    if at.year < 1970:
        assert read is None
    else:
        assert read is not None
        assert read == min(at, datetime(2200, 1, 1, tzinfo=UTC))
        assert Deadline.stated(read, seen=seen, longest_s=120).left_s(seen) <= 120
