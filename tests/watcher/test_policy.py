"""The policy table."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from watcher.notice import Deadline, Moment, Notice, NoticeKind, Urgency
from watcher.policy import POLICY, stand


def test_policy_knows_every_kind_when_asked() -> None:
    """A kind without a rule would end the daemon on its first notice."""
    assert set(POLICY) == set(NoticeKind)


@pytest.mark.parametrize("kind", NoticeKind)
def test_policy_writes_the_flag_always_and_signals_when_the_kind_means_stop(
    kind: NoticeKind,
) -> None:
    """Advice never ends a process; a stop always reaches the flag."""
    rule = POLICY[kind]
    assert rule.actions[0] == "flag_file"
    assert ("signal" in rule.actions) == (rule.urgency is Urgency.STOP)


def test_policy_stops_nothing_when_the_node_survives() -> None:
    """Rebalance advice and live migrations are advisory, and nothing else is."""
    advisory = {kind for kind, rule in POLICY.items() if rule.urgency is Urgency.ADVISORY}
    assert advisory == {NoticeKind.REBALANCE, NoticeKind.LIVE_MIGRATION}


def test_standing_counts_the_default_window_when_the_notice_has_no_deadline() -> None:
    """A notice with a deadline keeps it, one without counts from its receipt."""
    received = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
    bare = Notice(id="a", kind=NoticeKind.REBALANCE, source="test", received=received)
    assert stand(bare).counts_until == Deadline.after(received, 600)
    own = Deadline.after(received, 7)
    kept = Notice(
        id="b", kind=NoticeKind.PREEMPTION, source="test", received=received, deadline=own
    )
    assert stand(kept).counts_until == own


@pytest.mark.parametrize(
    ("kind", "lead_s"),
    [
        (NoticeKind.MAINTENANCE, 900),
        (NoticeKind.HARDWARE, 86_400),
        (NoticeKind.TERMINATION, 7200),
        (NoticeKind.CAPACITY_END, 900),
        (NoticeKind.LIVE_MIGRATION, 900),
    ],
)
def test_standing_is_planned_when_the_deadline_is_further_than_the_lead(
    kind: NoticeKind, lead_s: float
) -> None:
    """In force from the lead on, by CLOCK_BOOTTIME; the wall clock is for people."""
    received = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
    far = Deadline.after(received, 14 * 86_400)
    standing = stand(Notice(id="a", kind=kind, source="test", received=received, deadline=far))
    due = Deadline.after(received, 14 * 86_400 - lead_s)
    assert standing.acts_from == Moment(due.wall, due.boottime_s)
    assert not standing.is_due(Moment(far.wall, due.boottime_s - 0.1))
    assert standing.is_due(Moment(received.wall, due.boottime_s))


@pytest.mark.parametrize("kind", NoticeKind)
def test_standing_is_due_at_once_when_no_deadline_or_no_time_is_left(kind: NoticeKind) -> None:
    """Not knowing when is no reason to wait, nor is a time that has passed."""
    received = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
    bare = Notice(id="a", kind=kind, source="test", received=received)
    late = Notice(
        id="a", kind=kind, source="test", received=received, deadline=Deadline.after(received, -9)
    )
    assert stand(bare).is_due(received)
    assert stand(late).is_due(received)


def test_preemption_never_waits_when_its_deadline_is_far() -> None:
    """Every second of a Spot notice is of use."""
    assert POLICY[NoticeKind.PREEMPTION].lead_s is None


def test_policy_touches_the_node_object_only_when_a_real_notice_means_stop() -> None:
    """Advice cordons nothing, and a drill never does."""
    on_node = {"node_mark", "cordon", "taint", "lb_exclusion"}
    for kind, rule in POLICY.items():
        is_real_stop = rule.urgency is Urgency.STOP and kind is not NoticeKind.DRILL
        assert (on_node & set(rule.actions)) == (on_node if is_real_stop else set())
        assert not on_node & set(rule.actions[:2]), "the trainers come first"


@pytest.mark.parametrize(
    ("kind", "left_s", "expires_in_s"),
    [
        (NoticeKind.REBALANCE, None, 3600),
        (NoticeKind.LIVE_MIGRATION, 60, 3600),
        (NoticeKind.LIVE_MIGRATION, 86_400, 86_400 - 900 + 3600),
        (NoticeKind.PREEMPTION, 120, None),
    ],
)
def test_standing_expires_an_hour_after_advice_came_in_force(
    kind: NoticeKind, left_s: float | None, expires_in_s: float | None
) -> None:
    """Not after it was heard, if that was days before; a stop stays as long as it is in force."""
    received = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
    deadline = None if left_s is None else Deadline.after(received, left_s)
    notice = Notice(id="a", kind=kind, source="test", received=received, deadline=deadline)
    expires = None if expires_in_s is None else Deadline.after(received, expires_in_s)
    assert stand(notice).expires == expires


def test_standing_is_the_policys_when_another_is_given() -> None:
    """Urgency, lead and expiry are all of one table."""
    rule = replace(POLICY[NoticeKind.MAINTENANCE], lead_s=60.0, urgency=Urgency.ADVISORY)
    received = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
    far = Deadline.after(received, 3600)
    notice = Notice(
        id="a", kind=NoticeKind.MAINTENANCE, source="test", received=received, deadline=far
    )
    standing = stand(notice, {NoticeKind.MAINTENANCE: rule})
    assert (standing.urgency, standing.acts_from) == (Urgency.ADVISORY, far.before(60))
