"""What entries of Google's audit log mean: documented ones, spoilt ones, and any at all."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.gcp_bodies import ABSENT, RECEIVED, body, changed, said
from tests.support.scripted_google import ME
from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, NoticeKind
from watcher.policy import stand
from watcher.sources.gcp_entry import ENTRY_LIMIT_BYTES, METHODS, parse_entry
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices, Reading

PREEMPTED = "entry-preempted"
ENTRIES = (PREEMPTED, "entry-terminated", "entry-migrated")
SAID_AT = datetime(2026, 11, 30, 10, 5, 0, 123_456, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read(path: str, value: object, name: str = PREEMPTED) -> Reading:
    """Read an entry with one value changed."""
    return parse_entry(json.dumps(changed(name, path, value)), RECEIVED)


def told(reading: Reading) -> ForInstance:
    """Return the only notice of a reading, as it was told."""
    assert isinstance(reading, Notices)
    (found,) = reading.addressed
    assert isinstance(found, ForInstance)
    return found


def test_preemption_is_told_to_its_vm_when_the_log_says_it() -> None:
    """Its window began when it was logged, not when it got here."""
    found = told(parse_entry(body(PREEMPTED), RECEIVED))
    assert found.instance_id == found.notice.instance_id == ME
    assert found.over_if_booted_after == SAID_AT
    notice = found.notice
    assert (notice.kind, notice.action) == (NoticeKind.PREEMPTION, "compute.instances.preempted")
    assert notice.id == f"gcp-audit-systemevent-1764497100000-abc-{ME}"
    assert notice.deadline == Deadline.after(
        RECEIVED, 30 - (RECEIVED.wall - SAID_AT).total_seconds()
    )
    assert notice.detail == {
        "timestamp": "2026-11-30T10:05:00.123456Z",
        "resourceName": "projects/my-proj/zones/europe-west1-b/instances/node-1",
        "message": "Instance was preempted.",
    }


@pytest.mark.parametrize(
    ("name", "kind", "has_deadline"),
    [
        ("entry-terminated", NoticeKind.MAINTENANCE, True),
        ("entry-migrated", NoticeKind.LIVE_MIGRATION, False),
    ],
)
def test_maintenance_is_what_it_does_to_the_vm_when_the_log_says_it(
    name: str,
    kind: NoticeKind,
    has_deadline: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A VM that moves survives."""
    notice = told(parse_entry(body(name), RECEIVED)).notice
    assert (notice.kind, notice.deadline is not None) == (kind, has_deadline)


def test_entries_of_one_operation_are_one_notice_when_it_takes_long() -> None:
    """One at its begin, one at its end."""
    first, last = (told(read("insertId", name, "entry-migrated")).notice for name in ("a", "b"))
    assert first.id == last.id


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("operation", ABSENT, "abc123"),
        ("operation", "text", "abc123"),
        ("operation", {"id": 5}, "abc123"),
    ],
)
def test_notice_is_known_by_the_entry_when_there_is_no_operation(
    path: str, value: object, name: str
) -> None:
    """Which every delivery of it has."""
    assert told(read(path, value)).notice.id == f"gcp-audit-{name}-{ME}"


def test_notice_is_known_by_its_time_when_the_entry_has_no_name_at_all() -> None:
    """Better than one name for all."""
    message = changed(PREEMPTED, "operation", ABSENT) | {"insertId": None}
    notice = told(parse_entry(json.dumps(message), RECEIVED)).notice
    assert notice.id == f"gcp-audit-2026-11-30T10:05:00.123456Z-{ME}"


@pytest.mark.parametrize("value", [None, "", 1764497100, "yesterday", {"seconds": 5}, ABSENT])
def test_time_is_that_of_its_receipt_by_the_log_when_the_entrys_own_is_odd(value: object) -> None:
    """Nanoseconds are cut; what is odd is shown."""
    found = told(read("timestamp", value))
    assert found.over_if_booted_after == SAID_AT.replace(second=1)
    message = changed(PREEMPTED, "timestamp", value) | {"receiveTimestamp": "soon"}
    found = told(parse_entry(json.dumps(message), RECEIVED))
    assert found.over_if_booted_after is None
    assert found.notice.deadline == Deadline.after(RECEIVED, 30)
    assert "timestamp" in found.notice.detail["malformed"]


def test_deadline_is_never_later_than_the_window_when_the_log_is_ahead() -> None:
    """One of the two clocks is wrong then."""
    notice = told(read("timestamp", "2026-11-30T18:00:00Z")).notice
    assert notice.deadline == Deadline.after(RECEIVED, 30)


def test_deadline_stays_in_the_past_when_the_entry_comes_late() -> None:
    """Readers can tell for how long the VM has outlived it."""
    notice = told(parse_entry(body(PREEMPTED), Moment(SAID_AT.replace(hour=11), 9000.0))).notice
    assert notice.deadline is not None
    assert notice.deadline.boottime_s == pytest.approx(9000 - 3600 + 30)


@pytest.mark.parametrize(
    ("path", "value", "grounds"),
    [
        ("protoPayload/methodName", "compute.instances.preemptedX", Grounds.UNKNOWN_KIND),
        ("protoPayload/methodName", "v1.compute.instances.preempted", Grounds.UNKNOWN_KIND),
        ("protoPayload/methodName", "compute.instances.Preempted", Grounds.UNKNOWN_KIND),
        ("protoPayload/methodName", "compute.instances.hostError", Grounds.UNKNOWN_KIND),
        ("protoPayload/methodName", "compute.instances.upcomingMaintenance", Grounds.UNKNOWN_KIND),
        ("protoPayload/methodName", ABSENT, Grounds.UNKNOWN_KIND),
        ("protoPayload/methodName", ["compute.instances.preempted"], Grounds.UNKNOWN_KIND),
        ("protoPayload/methodName", "x\n2026-11-30 notice admitted", Grounds.UNKNOWN_KIND),
        ("protoPayload/serviceName", "evil.example.com", Grounds.UNKNOWN_KIND),
        ("protoPayload/serviceName", ABSENT, Grounds.UNKNOWN_KIND),
        ("protoPayload", {}, Grounds.UNKNOWN_KIND),
        ("resource/type", "gce_disk", Grounds.NOT_INSTANCES),
        ("resource/type", "x\x1b[2J", Grounds.NOT_INSTANCES),
        ("resource", ABSENT, Grounds.NOT_INSTANCES),
        ("resource", "gce_instance", Grounds.NOT_INSTANCES),
    ],
)
def test_entry_is_ignored_when_it_is_of_another_kind(
    path: str, value: object, grounds: Grounds
) -> None:
    """Methods match exactly, and the reason is one printable line."""
    reading = read(path, value)
    assert isinstance(reading, Ignored)
    assert reading.grounds is grounds
    assert reading.why.isprintable()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("resource/labels/instance_id", ABSENT),
        ("resource/labels/instance_id", 1234567890123456789),
        ("resource/labels/instance_id", "node-1"),
        ("resource/labels/instance_id", ""),
        ("resource/labels/instance_id", "-5"),
        ("resource/labels/instance_id", "١٢٣"),
        ("resource/labels", ABSENT),
        ("resource/labels", []),
        ("protoPayload", ABSENT),
        ("protoPayload", "text"),
        ("protoPayload", None),
    ],
)
def test_entry_is_refused_when_nobody_can_be_told(path: str, value: object) -> None:
    """It stays in the subscription, as evidence."""
    with pytest.raises(SourceMalformed, match="log entry"):
        read(path, value)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "null",
        "[]",
        "[{}]",
        "5",
        "{",
        "<html></html>",
        "[" * 50_000,
        '{"textPayload": "hello"}',
        '{"message": {"data": "eyJ9"}}',
        '{"protoPayload": {}, "pad": "' + "x" * ENTRY_LIMIT_BYTES + '"}',
    ],
)
def test_body_is_refused_when_it_is_no_entry_of_an_audit_log(message: str) -> None:
    """Somebody else writes to the topic, or it is too large."""
    with pytest.raises(SourceMalformed):
        parse_entry(message, RECEIVED)


def is_sound(message: bytes | str) -> None:
    """Read a message; whatever it is, what comes out can be acted on, and logged."""
    try:
        reading = parse_entry(message, RECEIVED)
    except SourceMalformed as error:
        why = str(error)
        assert why.isprintable()
        return
    if isinstance(reading, Ignored):
        assert reading.why.isprintable()
        return
    notice = told(reading).notice
    assert notice.id.isascii()
    assert " " not in notice.id
    assert len(json.dumps(dict(notice.detail))) < 5000
    assert stand(notice).counts_until.boottime_s <= RECEIVED.boottime_s + 60


@given(st.sampled_from(sorted(METHODS)), JSON, st.dictionaries(st.text(max_size=5), JSON), JSON)
def test_parser_answers_or_refuses_when_a_value_is_anything(
    method: str, time: object, labels: dict[str, object], operation: object
) -> None:
    """In an entry of each kind."""
    message = said(PREEMPTED)
    message["protoPayload"] |= {"methodName": method, "status": operation}
    for end in (labels, {"instance_id": ME}):
        message["resource"]["labels"] = labels | end
        is_sound(json.dumps(message | {"timestamp": time, "operation": operation}))
        is_sound(json.dumps(message | {"receiveTimestamp": time, "insertId": operation}))


@given(st.binary(max_size=300) | st.text(max_size=300) | JSON.map(json.dumps))
def test_parser_answers_or_refuses_when_fed_anything(message: bytes | str) -> None:
    """Bytes, texts and JSON."""
    is_sound(message)
