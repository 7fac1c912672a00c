"""Every body that AWS documents, and what it comes to."""

import json
from dataclasses import dataclass

import pytest

from tests.support.aws_bodies import MESSAGES, body, left_s, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind
from watcher.sources.aws_messages.registry import PARSERS
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices

SPOT_NODE = "i-0beef000000000001"
STATE_NODE = "i-0beef000000000002"
ASG_NODE = "i-0beef000000000003"
HOST_NODES = ["i-0beef000000000004", "i-0beef000000000005", "i-0beef000000000006"]
RESERVED_NODE = "i-0beef000000000007"
RESERVATION = "cr-0cab1e00000000001"
TO_12_DECEMBER_S = 12 * 86_400 + (15 - 10) * 3600 + 5 * 60 + 1


@dataclass(frozen=True)
class Told:
    """What every notice of a message must be."""

    kind: NoticeKind
    to: list[str]
    left_s: float | None
    action: str | None


def preemption(action: str, left_s: float) -> Told:
    """Expect a Spot interruption."""
    return Told(NoticeKind.PREEMPTION, [SPOT_NODE], left_s, action)


def state(word: str) -> Told:
    """Expect an instance that is ending already."""
    return Told(NoticeKind.TERMINATION, [STATE_NODE], -2, word)


SCALE_IN = Told(NoticeKind.TERMINATION, [ASG_NODE], None, "terminate")
BLOCK_END = Told(NoticeKind.CAPACITY_END, [RESERVATION], 598, "terminate")
REFUSED = "refused"

EXPECTED: dict[str, Told | Grounds | str] = {
    "spot-interruption-terminate": preemption("terminate", 118),
    "spot-interruption-stop": preemption("stop", 118),
    "spot-interruption-hibernate": preemption("hibernate", -2),
    "rebalance-recommendation": Told(NoticeKind.REBALANCE, [SPOT_NODE], None, None),
    "state-change-pending": Grounds.NOT_ENDING,
    "state-change-running": Grounds.NOT_ENDING,
    "state-change-stopping": state("stopping"),
    "state-change-stopped": state("stopped"),
    "state-change-shutting-down": state("shutting-down"),
    "state-change-terminated": state("terminated"),
    "asg-terminate": SCALE_IN,
    "asg-terminate-to-warm-pool": SCALE_IN,
    "asg-terminate-direct": SCALE_IN,
    "asg-launch": Grounds.NOT_ENDING,
    "asg-launch-direct": Grounds.NOT_ENDING,
    "asg-test-notification": Grounds.TEST,
    "sns-spot-interruption": preemption("terminate", 118),
    "sns-asg-terminate-direct": SCALE_IN,
    "sns-subscription-confirmation": Grounds.UNKNOWN_KIND,
    "health-reboot": Told(
        NoticeKind.MAINTENANCE,
        HOST_NODES[:1],
        TO_12_DECEMBER_S,
        "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED",
    ),
    "health-retirement-of-three": Told(
        NoticeKind.HARDWARE,
        HOST_NODES,
        TO_12_DECEMBER_S,
        "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED",
    ),
    "health-closed": Grounds.CLOSED,
    "health-dedicated-host": Grounds.NOT_INSTANCES,
    "health-other-service": Grounds.NOT_INSTANCES,
    "health-issue": Grounds.NOT_INSTANCES,
    "capacity-block-expiration": BLOCK_END,
    "capacity-block-reservation-expiration": BLOCK_END,
    "capacity-block-delivered": Grounds.NOT_ENDING,
    "capacity-block-reservation-delivered": Grounds.NOT_ENDING,
    "capacity-interruption-of-reservation": Told(
        NoticeKind.CAPACITY_END, [RESERVED_NODE], 118, "terminate"
    ),
    "capacity-interruption-of-block": Told(
        NoticeKind.CAPACITY_END, [RESERVED_NODE], 598, "terminate"
    ),
    "capacity-reclamation-completed": Grounds.UNKNOWN_KIND,
    "input-path-detail": REFUSED,
}


def test_table_has_every_body_when_one_is_added() -> None:
    """A payload without an expectation would be no test."""
    assert sorted(EXPECTED) == MESSAGES


@pytest.mark.parametrize("name", MESSAGES)
def test_body_is_read_for_what_it_is_when_well_formed(name: str) -> None:
    """The right notices to the right addressees, ignored on the right grounds, or refused."""
    expected = EXPECTED[name]
    if not isinstance(expected, Told):
        assert outcome(name) == expected
        return
    reading = read(body(name))
    assert isinstance(reading, Notices)
    to = [
        told.instance_id if isinstance(told, ForInstance) else told.reservation_id
        for told in reading.addressed
    ]
    assert to == expected.to
    for told in reading.addressed:
        notice = told.notice
        assert (notice.kind, notice.action) == (expected.kind, expected.action)
        assert left_s(notice) == expected.left_s
        assert notice.source == "aws_sqs"
        assert notice.instance_id == (told.instance_id if isinstance(told, ForInstance) else None)
        assert "malformed" not in notice.detail
    assert len({told.notice.id for told in reading.addressed}) == len(to)


def outcome(name: str) -> Grounds | str:
    """Return why a body comes to nothing."""
    try:
        reading = read(body(name))
    except SourceMalformed:
        return REFUSED
    assert isinstance(reading, Ignored)
    assert reading.why
    return reading.grounds


def test_every_parser_has_a_body_when_looked_up_by_its_title() -> None:
    """No line of the table goes untested."""
    seen = set()
    for name in MESSAGES:
        data = json.loads(body(name))
        title = data.get("detail-type") or data.get("detail_type")
        flat = data.get("Event") or data.get("LifecycleTransition")
        seen.add((data.get("source", "aws.autoscaling"), title or flat))
    assert seen >= PARSERS.keys()
