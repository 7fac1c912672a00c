"""Scheduled events as EC2 lists them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from watcher.simulator.aws.changes import EventEnd, MaintenanceEnded, MaintenanceScheduled
from watcher.simulator.aws.maintenance import Maintenance, gmt
from watcher.simulator.values import ScenarioError

NOW = datetime(2026, 11, 30, 11, 0, 0, 750_000, tzinfo=UTC)


def announced(event_id: str, not_before_s: float = 3600, **rest: float) -> MaintenanceScheduled:
    return MaintenanceScheduled(
        at_s=0,
        event_id=event_id,
        code="instance-stop",
        description="scheduled stop",
        not_before_s=not_before_s,
        not_after_s=rest.get("not_after_s"),
        not_before_deadline_s=rest.get("not_before_deadline_s"),
        is_not_after_empty=bool(rest.get("is_not_after_empty")),
    )


def ended(event_id: str, state: EventEnd, *, stays_listed: bool = False) -> MaintenanceEnded:
    return MaintenanceEnded(at_s=0, event_id=event_id, state=state, stays_listed=stays_listed)


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (datetime(2026, 12, 1, 9, 0, 43, tzinfo=UTC), "1 Dec 2026 09:00:43 GMT"),
        (datetime(2027, 5, 21, 23, 59, 59, 999_999, tzinfo=UTC), "21 May 2027 23:59:59 GMT"),
        (datetime(2027, 1, 1, tzinfo=timezone(timedelta(hours=2))), "31 Dec 2026 22:00:00 GMT"),
    ],
)
def test_gmt_has_no_weekday_and_no_leading_zero(moment: datetime, written: str) -> None:
    """EC2's own format, in UTC and whole seconds."""
    assert gmt(moment) == written


def test_event_has_only_the_times_that_were_given() -> None:
    """NotAfter can be absent, empty or a time; the deadline only appears where there is one."""
    maintenance = Maintenance()
    maintenance.schedule(announced("e-1"), NOW)
    maintenance.schedule(announced("e-2", is_not_after_empty=True), NOW)
    maintenance.schedule(announced("e-3", not_after_s=7200, not_before_deadline_s=9000), NOW)
    first, second, third = maintenance.scheduled
    assert first == {
        "NotBefore": "30 Nov 2026 12:00:00 GMT",
        "Code": "instance-stop",
        "Description": "scheduled stop",
        "EventId": "e-1",
        "State": "active",
    }
    assert second == first | {"EventId": "e-2", "NotAfter": ""}
    times = {
        "NotAfter": "30 Nov 2026 13:00:00 GMT",
        "NotBeforeDeadline": "30 Nov 2026 13:30:00 GMT",
    }
    assert third == first | {"EventId": "e-3"} | times


def test_event_is_rescheduled_in_its_place_when_announced_again() -> None:
    """An id has one entry."""
    maintenance = Maintenance()
    for event_id, not_before_s in (("e-1", 3600), ("e-2", 3600), ("e-1", -60)):
        maintenance.schedule(announced(event_id, not_before_s), NOW)
    first, second = maintenance.scheduled
    assert (first["EventId"], first["NotBefore"]) == ("e-1", "30 Nov 2026 10:59:00 GMT")
    assert second["EventId"] == "e-2"


@pytest.mark.parametrize(
    ("state", "prefix"),
    [(EventEnd.COMPLETED, "[Completed] "), (EventEnd.CANCELED, "[Canceled] ")],
)
def test_event_goes_to_the_history_when_it_ends(state: EventEnd, prefix: str) -> None:
    """State and description say how; the other events stay."""
    maintenance = Maintenance()
    maintenance.schedule(announced("e-1"), NOW)
    maintenance.schedule(announced("e-2"), NOW)
    maintenance.end(ended("e-1", state))
    assert [event["EventId"] for event in maintenance.scheduled] == ["e-2"]
    [over] = maintenance.history
    assert (over["State"], over["Description"]) == (state, prefix + "scheduled stop")


def test_event_is_in_both_lists_when_it_stays_listed() -> None:
    """Ended in both, and ended once: a second end changes nothing."""
    maintenance = Maintenance()
    maintenance.schedule(announced("e-1"), NOW)
    maintenance.end(ended("e-1", EventEnd.COMPLETED, stays_listed=True))
    maintenance.end(ended("e-1", EventEnd.CANCELED))
    assert maintenance.scheduled == maintenance.history
    assert maintenance.history[0]["State"] == "completed"


def test_end_is_refused_when_no_such_event_is_active() -> None:
    """The message names those that are."""
    maintenance = Maintenance()
    maintenance.schedule(announced("e-1"), NOW)
    maintenance.schedule(announced("e-2"), NOW)
    maintenance.end(ended("e-2", EventEnd.CANCELED, stays_listed=True))
    maintenance.refuse(ended("e-1", EventEnd.CANCELED))
    for event_id in ("e-2", "e-3"):
        with pytest.raises(ScenarioError, match=f"no event {event_id} is active.*; active: e-1$"):
            maintenance.refuse(ended(event_id, EventEnd.CANCELED))
