"""Every body that EC2's metadata service is documented to answer with, and what it comes to."""

import pytest

from tests.support.aws_bodies import left_s
from tests.support.aws_every_body import IMDS_BODIES, content, notices
from watcher.notice import NoticeKind
from watcher.sources.aws_windows import SCHEDULED_WINDOW_S

DAY_S = 86_400
TO_21_DECEMBER_S = 21 * DAY_S - (1 * 3600 + 4 * 60 + 25)
TO_NEW_YEAR_2_S = 32 * DAY_S + (13 * 3600 + 54 * 60 + 52)

Told = tuple[NoticeKind, str | None, float | None]
"""Kind, action, and seconds to the deadline."""

EXPECTED: dict[str, list[Told]] = {
    "spot-terminate.json": [(NoticeKind.PREEMPTION, "terminate", 118)],
    "spot-stop.json": [(NoticeKind.PREEMPTION, "stop", 118)],
    "spot-hibernate.json": [(NoticeKind.PREEMPTION, "hibernate", 0)],
    "termination-time.txt": [(NoticeKind.PREEMPTION, "terminate", 118)],
    "rebalance.json": [(NoticeKind.REBALANCE, None, None)],
    "scheduled-none.json": [],
    "scheduled-one.json": [(NoticeKind.MAINTENANCE, "system-reboot", TO_21_DECEMBER_S)],
    "scheduled-several.json": [
        (NoticeKind.HARDWARE, "instance-retirement", TO_NEW_YEAR_2_S),
        (NoticeKind.MAINTENANCE, "instance-reboot", TO_21_DECEMBER_S),
    ],
    "asg-in-service.txt": [],
    "asg-standby.txt": [],
    "asg-detached.txt": [],
    "asg-terminated.txt": [(NoticeKind.TERMINATION, "Terminated", None)],
    "asg-warmed-hibernated.txt": [],
    "asg-warmed-running.txt": [],
    "asg-warmed-stopped.txt": [],
    "asg-warmed-terminated.txt": [(NoticeKind.TERMINATION, "Warmed:Terminated", None)],
}


def test_table_has_every_body_when_one_is_added() -> None:
    """A payload without an expectation would be no test."""
    assert sorted(EXPECTED) == IMDS_BODIES


@pytest.mark.parametrize("name", EXPECTED)
def test_body_is_read_for_what_it_is_when_well_formed(name: str) -> None:
    """The right notices with the right deadlines, or none."""
    found = notices(f"imds/{name}", content(f"imds/{name}"))
    assert [(one.kind, one.action, left_s(one)) for one in found] == EXPECTED[name]
    for one in found:
        assert "malformed" not in one.detail
        assert (one.source, one.instance_id) == ("aws_imds", "i-0beef000000000001")
        assert (left_s(one) or 0) <= SCHEDULED_WINDOW_S
    assert len({one.id for one in found}) == len(found)
