"""What the documents of upcoming-maintenance mean, in every shape that was seen and many more."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.gcp_upcoming import parse_upcoming_maintenance, says_not_yet

DATA = Path(__file__).parents[2] / "data" / "gcp" / "metadata"
RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
VM = "1234567890123456789"
START = "2026-12-01T18:00:00Z"
UNTIL_START_S = 114_894


def upcoming(document: object, *, does_migrate: bool = False) -> Notice:
    """Parse a document that has to be a notice."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    notice = parse_upcoming_maintenance(body, RECEIVED, VM, does_migrate=does_migrate)
    assert notice is not None
    return notice


def test_documented_body_is_a_maintenance_at_the_start_of_its_window() -> None:
    """With all of it in the detail."""
    notice = upcoming((DATA / "upcoming-scheduled.json").read_bytes())
    assert notice.kind is NoticeKind.MAINTENANCE
    assert notice.deadline == Deadline.after(RECEIVED, UNTIL_START_S)
    assert notice.action == "SCHEDULED"
    assert notice.id == f"gcp-upcoming-maintenance-SCHEDULED-{START}-{VM}"
    assert notice.detail == {
        "key": "instance/upcoming-maintenance",
        "windowStartTime": START,
        "windowEndTime": "2026-12-01T22:00:00Z",
        "latestWindowStartTime": "2026-12-05T18:00:00Z",
        "maintenanceStatus": "PENDING",
        "maintenanceReasons": "PLANNED_UPDATE",
        "canReschedule": "true",
    }


def test_apis_spelling_is_the_same_and_a_failing_part_is_hardware() -> None:
    """camelCase, real booleans, reasons."""
    notice = upcoming((DATA / "upcoming-camel.json").read_bytes())
    assert notice.kind is NoticeKind.HARDWARE
    assert notice.deadline == Deadline.after(RECEIVED, UNTIL_START_S)
    assert notice.detail["canReschedule"] == "false"
    assert notice.detail["maintenanceReasons"] == "FAILURE_GPU_XID FAILURE_NVLINK"


def test_wrapped_body_is_read_and_leaves_the_least_time_when_it_goes_on() -> None:
    """What has begun may end the VM at any moment."""
    notice = upcoming((DATA / "upcoming-wrapped.json").read_bytes())
    assert notice.kind is NoticeKind.MAINTENANCE
    assert notice.deadline == Deadline.after(RECEIVED, 60)


def test_maintenance_is_advice_when_the_vm_is_moved() -> None:
    """Unless a part of the host fails."""
    document = {"window_start_time": START}
    assert upcoming(document, does_migrate=True).kind is NoticeKind.LIVE_MIGRATION
    failing = {**document, "maintenance_reasons": ["FAILURE_MEMORY"]}
    assert upcoming(failing, does_migrate=True).kind is NoticeKind.HARDWARE


NOTHING = [
    b"{}",
    b"{ }",
    b" {\n}\n",
    b"NONE",
    b" none\n",
    b'"NONE"',
    b' "none" ',
    b"\xef\xbb\xbf{}",
    b"\xef\xbb\xbfNONE",
    b'{"error":"no notifications have been received yet, try again later"}',
    b'{"Upcoming maintenance": {}}',
    b'{"upcomingMaintenance": {}}',
    b'{"window_start_time": "2026-12-01T18:00:00Z", "maintenance_status": "COMPLETE"}',
    b'{"windowStartTime": "2026-12-01T18:00:00Z", "maintenanceStatus": "completed"}',
]


@pytest.mark.parametrize("body", NOTHING)
def test_body_is_nothing_in_each_way_that_was_seen(body: bytes) -> None:
    """And when the maintenance is over."""
    assert parse_upcoming_maintenance(body, RECEIVED, VM) is None


@pytest.mark.parametrize(
    ("time", "left_s"),
    [
        ("2026-11-30T11:05:06Z", 3600),
        ("2026-11-30T11:05:06.5Z", 3600.5),
        ("2026-11-30T12:05:06+01:00", 3600),
        ("2026-11-30T10:05:16Z", 10),
        ("2026-11-30T10:05:06Z", 60),
        ("2026-11-30T09:05:06Z", 60),
        ("2028-11-30T10:05:06Z", 90 * 86_400),
    ],
)
def test_window_is_believed_as_far_as_it_makes_sense(time: str, left_s: float) -> None:
    """Once it is open there is as long as an event's warning; too far ahead is cut."""
    notice = upcoming({"windowStartTime": time, "maintenanceStatus": "PENDING"})
    assert notice.deadline == Deadline.after(RECEIVED, left_s)
    assert "malformed" not in notice.detail


@pytest.mark.parametrize("status", ["PENDING", "pending", "", None, 5, "SOMETHING_NEW"])
def test_status_is_taken_for_pending_when_it_is_new(status: object) -> None:
    """The start counts."""
    notice = upcoming({"window_start_time": START, "maintenance_status": status})
    assert notice.deadline == Deadline.after(RECEIVED, UNTIL_START_S)


def test_maintenance_goes_on_when_its_status_says_so_before_its_time() -> None:
    """Somebody has started it."""
    notice = upcoming({"window_start_time": START, "maintenance_status": "ONGOING"})
    assert notice.deadline == Deadline.after(RECEIVED, 60)


ODD: list[dict[str, object]] = [
    {"window_start_time": None},
    {"window_start_time": ""},
    {"window_start_time": "soon"},
    {"window_start_time": 1_796_036_400},
    {"window_start_time": ["2026-12-01T18:00:00Z"]},
    {"window_start_time": {"seconds": "5"}},
    {"window_start_time": True},
    {"window_start_time": "2026-12-01"},
    {"window_start_time": "2026-12-01T18:00:00"},
    {"window_start_time": "2026-13-01T18:00:00Z"},
    {"window_start_time": "2026-12-01T18:00:00Z\n"},
    {"window_start_time": "Tue, 01 Dec 2026 18:00:00 GMT"},
    {"window_start_time": "\ud800"},
    {"window_start_time": "x" * 5000},
    {"windowStartTime": "٢٠٢٦-12-01T18:00:00Z"},
    {"window_end_time": "2026-12-01T22:00:00Z"},
    {"latest_window_start_time": "2026-12-01T22:00:00Z"},
    {"start_time": "tomorrow"},
    {"window_start_time": "soon", "maintenance_reasons": "FAILURE"},
    {"window_start_time": "soon", "maintenance_reasons": [None, 5, {"a": 1}]},
    {"window_start_time": "soon", "maintenance_reasons": ["x" * 5000] * 500},
    {"window_start_time": "soon", "type": ["SCHEDULED"], "can_reschedule": {"a": []}},
    {"window_start_time": "soon", "can_reschedule": "x" * 5000},
]


@pytest.mark.parametrize("document", ODD)
def test_maintenance_is_a_notice_without_a_time_when_its_start_is_odd(
    document: dict[str, object],
) -> None:
    """A positive answer stays one: a detail we can't read must not cost the notice."""
    notice = upcoming(document)
    assert notice.deadline is None
    assert notice.detail["malformed"]
    assert len(json.dumps(dict(notice.detail))) < 3000
    assert upcoming(document).id == notice.id


FOREIGN = [
    b"",
    b" ",
    b"null",
    b"true",
    b"5",
    b"TRUE",
    b"FALSE",
    b'"PENDING"',
    b"[]",
    b'[{"window_start_time": "2026-12-01T18:00:00Z"}]',
    b'{"error": "not found"}',
    b'{"error": {"code": 404}}',
    b'{"maintenance_status": "PENDING"}',
    b'{"type": "SCHEDULED", "maintenance_status": "ONGOING"}',
    b'{"Upcoming maintenance": "NONE"}',
    b'{"Upcoming maintenance": {"window": 1}}',
    b'{"window_start_time": "2026-12-01T18:00:',
    b"{'window_start_time': 'x'}",
    b"<html>\xff\x00</html>",
    b"NONE NONE",
    b"NO" + b"NE" * 50,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"\xff\xfe\x00",
    b"404 page not found",
]


@pytest.mark.parametrize("body", FOREIGN)
def test_body_is_refused_when_it_is_neither_a_window_nor_a_known_nothing(body: bytes) -> None:
    """It is unknown whether there is a maintenance."""
    with pytest.raises(SourceMalformed):
        parse_upcoming_maintenance(body, RECEIVED, VM)


@pytest.mark.parametrize(
    ("body", "is_so"),
    [
        (b'{"error":"no notifications have been received yet, try again later"}', True),
        (b'{"error": "No notifications"}', True),
        (b'{"error": "internal"}', False),
        (b"{}", False),
        (b"Service Unavailable", False),
        (b"", False),
        (b"\xff", False),
        (b'{"error": 503}', False),
    ],
)
def test_error_says_not_yet_when_it_is_that_one(*, body: bytes, is_so: bool) -> None:
    """Any other is a failure."""
    assert says_not_yet(body) is is_so


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        *("window_start_time", "windowStartTime", "startTime", "window_end_time", "type"),
        *("maintenance_status", "maintenance_reasons", "can_reschedule", "error"),
        "Upcoming maintenance",
    ]
)


@given(st.dictionaries(NAMES, JSON | st.just(START), max_size=6))
def test_document_is_a_notice_nothing_or_refused_when_its_values_are_anything(
    document: dict[str, object],
) -> None:
    """Nothing else comes out."""
    try:
        notice = parse_upcoming_maintenance(json.dumps(document).encode(), RECEIVED, VM)
    except SourceMalformed:
        return
    if notice is not None and notice.deadline is not None:
        assert 0 < notice.deadline.left_s(RECEIVED) <= 90 * 86_400


@given(st.binary(max_size=300))
def test_parser_answers_or_refuses_when_given_any_bytes(body: bytes) -> None:
    """Nothing else comes out."""
    with suppress(SourceMalformed):
        parse_upcoming_maintenance(body, RECEIVED, VM)
    assert says_not_yet(body) in (True, False)
