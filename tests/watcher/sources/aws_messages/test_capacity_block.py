"""A Capacity Block's instances go before its end, and the message names none of them."""

import pytest

from tests.support.aws_bodies import ABSENT, addressed, body, changed, left_s, only, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind
from watcher.sources.aws_messages.capacity_block import member_notice
from watcher.sources.reading import ForReservation

BLOCK = "capacity-block-expiration"


def reservation(message: bytes) -> ForReservation:
    """Read a message that must be to one reservation."""
    [told] = addressed(message)
    assert isinstance(told, ForReservation)
    return told


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("2026-11-30T10:45:06Z", 598),
        ("2026-11-30T10:45:06.000Z", 598),
        ("2026-11-30T12:45:06+02:00", 598),
        ("2026-11-30 10:45:06", 598),
        ("2026-11-30T10:45Z", 592),
        ("30 Nov 2026 10:45:06 GMT", 598),
        ("Mon, 30 Nov 2026 10:45:06 GMT", 598),
        ("2026-11-30T10:40:08Z", 300),
        ("2026-11-30T10:05:08Z", -1800),
        ("2027-05-30T10:05:08Z", 600),
    ],
)
def test_expiry_is_half_an_hour_before_the_end_when_it_can_be_read(
    end: str, expected: float
) -> None:
    """In any way of writing it, as AWS documents none; and never later than it promises."""
    notice = only(changed(BLOCK, "detail/end-date", end))
    assert left_s(notice) == expected
    assert "malformed" not in notice.detail


@pytest.mark.parametrize("end", [ABSENT, None, "", 1796033226, "2026-11-30", "at noon", ["x"]])
def test_expiry_is_ten_minutes_after_the_warning_when_the_end_is_odd(end: object) -> None:
    """That much is promised whatever the end is."""
    notice = only(changed(BLOCK, "detail/end-date", end))
    assert notice.kind is NoticeKind.CAPACITY_END
    assert left_s(notice) == 598
    assert notice.detail["malformed"].startswith("end-date")


@pytest.mark.parametrize("value", [ABSENT, None, "", 5, "i-0beef000000000001", "cr-", ["cr-1"]])
def test_expiry_is_refused_when_it_names_no_reservation(value: object) -> None:
    """There is nobody to look for."""
    with pytest.raises(SourceMalformed, match="capacity-reservation-id"):
        read(changed(BLOCK, "detail/capacity-reservation-id", value))


def test_expiry_is_one_fact_when_its_title_is_either() -> None:
    """AWS's documentation has had both."""
    assert only(body(BLOCK)).id == only(body("capacity-block-reservation-expiration")).id


@pytest.mark.parametrize(
    ("instance_type", "expected"),
    [
        ("p5.48xlarge", 300),
        ("trn2.48xlarge", 300),
        ("p6-b200.48xlarge", 300),
        ("", 300),
        ("p6e-gb200.36xlarge", -1500),
        ("trn2u.48xlarge", -1500),
    ],
)
def test_member_has_the_rule_of_its_type_when_told(instance_type: str, expected: float) -> None:
    """An UltraServer goes an hour before the end, so the warning may come too late for it."""
    told = reservation(changed(BLOCK, "detail/end-date", "2026-11-30T10:40:08Z"))
    notice = member_notice(told, "i-0beef000000000008", instance_type)
    assert notice.instance_id == "i-0beef000000000008"
    assert notice.id.endswith("i-0beef000000000008")
    assert left_s(notice) == expected


def test_member_keeps_the_promise_when_the_end_is_odd() -> None:
    """Without an end there is nothing to count back from."""
    told = reservation(changed(BLOCK, "detail/end-date", None))
    assert left_s(member_notice(told, "i-0beef000000000008", "trn2u.48xlarge")) == 598
