"""An instance of a reservation is taken: the one message that states its deadline."""

import pytest

from tests.support.aws_bodies import ABSENT, body, changed, left_s, only, read
from watcher.errors import SourceMalformed

RESERVATION, BLOCK = "capacity-interruption-of-reservation", "capacity-interruption-of-block"
TIME = "detail/instance-termination-time"


def test_zone_is_shown_when_under_either_key() -> None:
    """The two pages that document the event differ in it."""
    for name in (RESERVATION, BLOCK):
        assert only(body(name)).detail["availability-zone-id"] == "euw1-az2"


@pytest.mark.parametrize("resources", [ABSENT, None, "", [], [None], 7, {"arn": 1}])
@pytest.mark.parametrize("name", [RESERVATION, BLOCK])
def test_interruption_stands_when_its_resources_are_odd(name: str, resources: object) -> None:
    """A text in one sample and a list in the other; neither is needed."""
    assert only(changed(name, "resources", resources)).id == only(body(name)).id


@pytest.mark.parametrize(
    ("name", "time", "expected"),
    [
        (RESERVATION, "2026-11-30T10:06:08Z", 60),
        (RESERVATION, "2026-11-30T10:05:00Z", -8),
        (RESERVATION, "2026-11-30T10:15:06Z", 120),
        (BLOCK, "2026-11-30T10:15:06Z", 598),
        (BLOCK, "2026-11-30T11:15:06Z", 600),
    ],
)
def test_interruption_is_at_its_time_when_that_is_within_the_promise(
    name: str, time: str, expected: float
) -> None:
    """Two minutes for a reservation that its owner takes back, ten for a block that ends."""
    assert left_s(only(changed(name, TIME, time))) == expected


@pytest.mark.parametrize("time", [ABSENT, None, "", 5, "soon"])
def test_interruption_has_the_shortest_window_when_its_time_is_odd(time: object) -> None:
    """Whichever of the two it is."""
    notice = only(changed(BLOCK, TIME, time))
    assert left_s(notice) == 118
    assert "instance-termination-time" in notice.detail["malformed"]


def test_interruption_is_refused_when_it_names_no_instance() -> None:
    """The ARN beside it is not taken apart."""
    with pytest.raises(SourceMalformed):
        read(changed(BLOCK, "detail/instance-id", ABSENT))
