"""A Spot interruption that is oddly said is a notice; one that names nobody is refused."""

import pytest

from tests.support.aws_bodies import ABSENT, RECEIVED, changed, left_s, only, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind

SPOT = "spot-interruption-terminate"


@pytest.mark.parametrize("action", [ABSENT, None, "", "TERMINATE", "evaporate", 7, ["stop"], {}])
def test_interruption_has_the_usual_window_when_its_action_is_odd(action: object) -> None:
    """What will be done is less important than that something will."""
    notice = only(changed(SPOT, "detail/instance-action", action))
    assert notice.kind is NoticeKind.PREEMPTION
    assert left_s(notice) == 118
    assert notice.detail["malformed"].startswith("instance-action")


@pytest.mark.parametrize(
    "time", [ABSENT, None, "", 1796033226, "yesterday", "Mon, 30 Nov 2026 10:05:06 GMT", "0001"]
)
def test_interruption_counts_from_receipt_when_its_time_is_odd(time: object) -> None:
    """The promise is kept against the only clock that is left."""
    notice = only(changed(SPOT, "time", time))
    assert left_s(notice) == 120
    assert "time of the event" in notice.detail["malformed"]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-11-30T10:04:06Z", 58),
        ("2026-11-30T10:05:06.250Z", 118.25),
        ("2026-11-30T11:05:06+01:00", 118),
        ("2026-11-30T10:00:08Z", -180),
        ("2026-11-30T10:05:09Z", 120),
        ("2026-11-30T12:05:06Z", 120),
        ("9999-12-31T23:59:59Z", 120),
        ("1970-01-01T00:00:00Z", 120 - RECEIVED.wall.timestamp()),
    ],
)
def test_interruption_is_never_later_than_promised_when_its_time_is_far(
    time: str, expected: float
) -> None:
    """What the queue has cost is lost, and a clock that is ahead of ours gains nothing."""
    notice = only(changed(SPOT, "time", time))
    assert left_s(notice) == expected
    assert "malformed" not in notice.detail


@pytest.mark.parametrize(
    "instance_id",
    [ABSENT, None, "", "i-", 7, "vol-0123", "i-0beef\n", ["i-0beef"], "i-" + "a" * 99],
)
def test_interruption_is_refused_when_it_names_no_instance(instance_id: object) -> None:
    """Nobody can be told, and the ARN beside it is not taken apart for a guess."""
    with pytest.raises(SourceMalformed, match="instance-id"):
        read(changed(SPOT, "detail/instance-id", instance_id))


def test_interruption_has_one_id_when_delivered_twice() -> None:
    """The event's id makes it, so that another event about the instance is another notice."""
    first, again = only(changed(SPOT, "region", "x")), only(changed(SPOT, "account", "y"))
    assert first.id == again.id
    assert only(changed(SPOT, "id", "another")).id != first.id


def test_interruption_is_told_apart_by_its_time_when_it_has_no_id() -> None:
    """Samples in AWS's documentation have none."""
    assert only(changed(SPOT, "id", ABSENT)).id == (
        "aws-spot-warning-terminate-2026-11-30T10:05:06+00:00-i-0beef000000000001"
    )
