"""Notices and deadlines: pure arithmetic on two clocks."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from watcher.notice import Deadline, Moment, Notice, NoticeKind, Standing, Urgency, rfc3339

SEEN = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)


@pytest.mark.parametrize(
    ("ahead_s", "left_s"), [(90.0, 90.0), (120.0, 120.0), (3720.0, 120.0), (-60.0, -60.0)]
)
def test_deadline_stays_within_the_promise_when_stated(ahead_s: float, left_s: float) -> None:
    """A time too far ahead is a wrong clock, one in the past is kept, on both clocks alike."""
    stated = SEEN.wall + timedelta(seconds=ahead_s)
    deadline = Deadline.stated(stated, seen=SEEN, longest_s=120)
    assert deadline.boottime_s == 5000.0 + left_s
    assert deadline.wall == SEEN.wall + timedelta(seconds=left_s)


def test_deadline_has_nothing_left_when_it_has_passed() -> None:
    """The time that is left never becomes negative."""
    deadline = Deadline.after(SEEN, 10)
    assert deadline.left_s(SEEN) == 10
    assert deadline.left_s(Moment(SEEN.wall, 5011.0)) == 0


def standing(kind: NoticeKind, urgency: Urgency, left_s: float) -> Standing:
    """Build what stands under the policy with so much time left."""
    notice = Notice(id=f"{kind}-{left_s}", kind=kind, source="test", received=SEEN)
    return Standing(notice, urgency, Deadline.after(SEEN, left_s))


def test_standing_ranks_real_before_drill_and_stop_before_advisory_when_sorted() -> None:
    """Among equals the earliest deadline comes first."""
    drill = standing(NoticeKind.DRILL, Urgency.STOP, 1)
    advice = standing(NoticeKind.REBALANCE, Urgency.ADVISORY, 5)
    late = standing(NoticeKind.MAINTENANCE, Urgency.STOP, 60)
    early = standing(NoticeKind.PREEMPTION, Urgency.STOP, 30)
    ranked = sorted([drill, advice, late, early], key=lambda one: one.rank)
    assert ranked == [early, late, advice, drill]


def test_notice_shows_the_keys_of_a_log_line_when_printed() -> None:
    """Every hop logs the same four keys."""
    text = str(standing(NoticeKind.REBALANCE, Urgency.ADVISORY, 5).notice)
    assert text == "notice_id=rebalance-5 source=test kind=rebalance deadline=none"


def test_rfc3339_is_utc_with_z_when_the_time_has_an_offset() -> None:
    """Readers get one form only."""
    tokyo = timezone(timedelta(hours=9))
    assert rfc3339(datetime(2026, 11, 30, 19, 5, 6, tzinfo=tokyo)) == "2026-11-30T10:05:06Z"
