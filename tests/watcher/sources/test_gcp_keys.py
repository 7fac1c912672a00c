"""What the answers of each key come to, and what they don't."""

from collections.abc import Mapping

import pytest

from tests.support.clocks import START, TurnedClock
from tests.support.following_gcp import said
from watcher.errors import SourceUnavailable
from watcher.httpclient import Answer
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.gcp_keys import (
    MaintenanceEvent,
    Preempted,
    UpcomingMaintenance,
    followed_keys,
)
from watcher.sources.gcp_vm import HOST_MAINTENANCE, MACHINE_TYPE, PREEMPTIBLE, GcpVm
from watcher.sources.level import ABSENCES_TO_WITHDRAW, GRACE_S

TERMINATE = said("TERMINATE_ON_HOST_MAINTENANCE")
MIGRATE = said("MIGRATE_ON_HOST_MAINTENANCE")
NONE = said("NONE")
NOT_YET = said('{"error":"no notifications have been received yet, try again later"}', status=503)
MISSING = said("", status=404)


def vm(words: Mapping[str, str], notice_s: float | None = None) -> GcpVm:
    """Return a VM of which this is known."""
    known = GcpVm({}, notice_s)
    for path, word in words.items():
        known.learn(path, word.encode())
    return known


SPOT = {PREEMPTIBLE: "TRUE"}
ON_DEMAND = {PREEMPTIBLE: "FALSE", MACHINE_TYPE: "projects/1/machineTypes/n2-standard-8"}
WITH_GPUS = {PREEMPTIBLE: "FALSE", MACHINE_TYPE: "projects/1/machineTypes/a3-highgpu-8g"}


def window_s(notice: Notice) -> float:
    assert notice.deadline is not None
    return notice.deadline.boottime_s - notice.received.boottime_s


@pytest.mark.parametrize(
    ("notice_s", "is_fresh", "counted_s"),
    [(None, True, 30), (0, True, 30), (120, True, 120), (120, False, 30), (None, False, 30)],
)
def test_preemption_has_the_notice_that_the_vm_was_made_with_when_it_is_seen_to_begin(
    *, notice_s: float | None, is_fresh: bool, counted_s: float
) -> None:
    """What was there at the first look may be nearly over."""
    key = Preempted(vm(SPOT, notice_s), None)
    [notice] = key.answered(said("TRUE"), START, is_fresh=is_fresh).news
    assert window_s(notice) == counted_s


def test_preemption_stays_when_the_key_says_false_once(clock: TurnedClock) -> None:
    """Google never takes one back; a VM that clearly lives on has survived it."""
    key = Preempted(vm(SPOT), None)
    key.answered(said("TRUE"), clock(), is_fresh=True)
    assert key.answered(said("FALSE"), clock(), is_fresh=True).news == []
    assert key.answered(said("TRUE"), clock(), is_fresh=True).news == []
    clock.turn(30 + GRACE_S)
    for _ in range(ABSENCES_TO_WITHDRAW - 1):
        assert key.answered(said("FALSE"), clock(), is_fresh=True).news == []
    key.unknown()
    for _ in range(ABSENCES_TO_WITHDRAW - 1):
        assert key.answered(said("FALSE"), clock(), is_fresh=True).news == []
    [last] = key.answered(said("FALSE"), clock(), is_fresh=True).news
    assert (last.withdrawn, last.outcome) == (True, "survived")


@pytest.mark.parametrize(
    ("words", "is_fresh", "kind", "counted_s"),
    [
        (SPOT, True, NoticeKind.PREEMPTION, 30),
        (SPOT, False, NoticeKind.PREEMPTION, 30),
        (ON_DEMAND, True, NoticeKind.MAINTENANCE, 60),
        (ON_DEMAND, False, NoticeKind.MAINTENANCE, 60),
        (WITH_GPUS, True, NoticeKind.MAINTENANCE, 3600),
        (WITH_GPUS, False, NoticeKind.MAINTENANCE, 60),
        ({}, True, NoticeKind.MAINTENANCE, 30),
    ],
)
def test_termination_has_the_window_of_its_vm_when_it_is_seen_to_begin(
    *, words: Mapping[str, str], is_fresh: bool, kind: NoticeKind, counted_s: float
) -> None:
    """An hour for GPUs, 30 s for Spot, and the least of all where nothing is known."""
    key = MaintenanceEvent(vm(words), None)
    [notice] = key.answered(TERMINATE, START, is_fresh=is_fresh).news
    assert (notice.kind, window_s(notice)) == (kind, counted_s)


def test_termination_has_the_window_that_was_set_when_one_was() -> None:
    """An N1 with GPUs does not tell that it has some."""
    key = MaintenanceEvent(vm(ON_DEMAND), None, 3600.0)
    [notice] = key.answered(TERMINATE, START, is_fresh=True).news
    assert window_s(notice) == 3600


def test_event_is_over_at_once_when_google_says_none_and_can_come_again() -> None:
    """NONE, A, NONE, A: two notices, each with its withdrawal."""
    key = MaintenanceEvent(vm(ON_DEMAND), None)
    seen = [
        notice
        for answer in (NONE, MIGRATE, MIGRATE, NONE, MIGRATE, NONE)
        for notice in key.answered(answer, START, is_fresh=True).news
    ]
    assert [(one.withdrawn, one.outcome) for one in seen] == [(False, ""), (True, "over")] * 2
    assert {one.kind for one in seen} == {NoticeKind.LIVE_MIGRATION}


def test_event_is_replaced_when_it_becomes_another_one() -> None:
    """The new one comes first."""
    key = MaintenanceEvent(vm(ON_DEMAND), None)
    key.answered(MIGRATE, START, is_fresh=True)
    stop, gone = key.answered(TERMINATE, START, is_fresh=True).news
    assert (stop.kind, stop.withdrawn) == (NoticeKind.MAINTENANCE, False)
    assert (gone.kind, gone.withdrawn, gone.outcome) == (
        NoticeKind.LIVE_MIGRATION,
        True,
        "replaced",
    )


def test_event_stays_when_its_key_is_gone_or_the_server_fails() -> None:
    """Only NONE is Google's word for it."""
    key = MaintenanceEvent(vm(ON_DEMAND), None)
    key.answered(TERMINATE, START, is_fresh=True)
    for _ in range(20):
        assert key.answered(MISSING, START, is_fresh=True).news == []
    with pytest.raises(SourceUnavailable):
        key.answered(NOT_YET, START, is_fresh=True)
    assert key.answered(TERMINATE, START, is_fresh=True).news == []


def document(start: str, status: str = "PENDING") -> Answer:
    """Return an announcement of a maintenance."""
    return said(f'{{"window_start_time": "{start}", "maintenance_status": "{status}"}}')


FIRST, LATER = document("2026-12-01T18:00:00Z"), document("2026-12-03T18:00:00Z")


def test_maintenance_is_replaced_when_it_is_put_off_and_back() -> None:
    """A, B, A: each time the new one, then the old one's end."""
    key = UpcomingMaintenance(vm(WITH_GPUS), None)
    starts = [
        (notice.detail["windowStartTime"][8:10], notice.outcome)
        for answer in (FIRST, FIRST, LATER, FIRST)
        for notice in key.answered(answer, START, is_fresh=True).news
    ]
    assert starts == [("01", ""), ("03", ""), ("01", "replaced"), ("01", ""), ("03", "replaced")]


def test_maintenance_is_brought_forward_when_it_begins_before_its_time() -> None:
    """The same notice with an earlier deadline; later looks change nothing."""
    key = UpcomingMaintenance(vm(WITH_GPUS), None)
    [planned] = key.answered(FIRST, START, is_fresh=True).news
    begun = document("2026-12-01T18:00:00Z", "ONGOING")
    [now] = key.answered(begun, START, is_fresh=True).news
    assert (now.id, window_s(now)) == (planned.id, 60)
    assert key.answered(begun, START, is_fresh=True).news == []
    assert key.answered(FIRST, START, is_fresh=True).news == []


def test_maintenance_is_over_when_two_answers_in_a_row_have_none() -> None:
    """One may be a glitch; a failure between them begins anew."""
    key = UpcomingMaintenance(vm(WITH_GPUS), None)
    key.answered(FIRST, START, is_fresh=True)
    assert key.answered(said("{}"), START, is_fresh=True).news == []
    key.unknown()
    assert key.answered(said("NONE"), START, is_fresh=True).news == []
    [over] = key.answered(said('"NONE"'), START, is_fresh=True).news
    assert (over.withdrawn, over.outcome) == (True, "over")
    assert key.answered(said("{}"), START, is_fresh=True).news == []


@pytest.mark.parametrize("answer", [NOT_YET, MISSING])
def test_maintenance_stays_when_the_key_is_not_there(answer: Answer) -> None:
    """Neither says that it is over."""
    key = UpcomingMaintenance(vm(WITH_GPUS), None)
    key.answered(FIRST, START, is_fresh=True)
    for _ in range(20):
        sight = key.answered(answer, START, is_fresh=True)
        assert (sight.what, sight.news) == ("absent", [])
    assert key.answered(FIRST, START, is_fresh=True).news == []


def test_maintenance_is_advice_when_the_vm_is_moved() -> None:
    """By its own word."""
    key = UpcomingMaintenance(vm({HOST_MAINTENANCE: "MIGRATE"}), None)
    [notice] = key.answered(FIRST, START, is_fresh=True).news
    assert notice.kind is NoticeKind.LIVE_MIGRATION


def test_clear_of_one_key_leaves_what_another_has_reported() -> None:
    """The mistake of others: NONE on a preempted VM, and FALSE on one whose host is maintained."""
    preempted, event, upcoming = followed_keys(vm(SPOT), ())
    preempted.answered(said("TRUE"), START, is_fresh=True)
    assert event.answered(NONE, START, is_fresh=True).news == []
    assert upcoming.answered(said("{}"), START, is_fresh=True).news == []
    assert preempted.answered(said("TRUE"), START, is_fresh=True).news == []
    preempted, event, _ = followed_keys(vm(SPOT), ())
    event.answered(TERMINATE, START, is_fresh=True)
    for _ in range(20):
        assert preempted.answered(said("FALSE"), START, is_fresh=True).news == []
    assert event.answered(TERMINATE, START, is_fresh=True).news == []


def test_adopted_notice_goes_to_the_key_that_it_came_from() -> None:
    """Two keys can tell of a preemption; the first run's id and deadline stay."""
    first = MaintenanceEvent(vm(SPOT), None)
    [adopted] = first.answered(TERMINATE, START, is_fresh=True).news
    preempted, event, _ = followed_keys(vm({}), (adopted,))
    assert event.answered(TERMINATE, START, is_fresh=False).news == []
    [new] = preempted.answered(said("TRUE"), START, is_fresh=False).news
    assert new.deadline == Deadline.after(START, 30)
    [over] = event.answered(NONE, START, is_fresh=True).news
    assert (over.id, over.withdrawn) == (adopted.id, True)
