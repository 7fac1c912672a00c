"""What the scheduled events and the target lifecycle state of an instance mean."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.aws_bodies import imds
from watcher.errors import SourceMalformed
from watcher.notice import Moment, Notice, NoticeKind
from watcher.sources.aws_imds_events import parse_scheduled_events, parse_target_lifecycle_state

RECEIVED = Moment(datetime(2026, 12, 20, 9, 0, 43, tzinfo=UTC), 5000.0)
A_DAY_S = 86_400
NODE = "i-0beef000000000001"
EVENT = json.loads(imds("scheduled-one.json"))[0]


def scheduled(entries: object) -> tuple[Notice, ...]:
    """Parse a list of events."""
    return parse_scheduled_events(json.dumps(entries).encode(), RECEIVED, NODE)


def one(**changes: object) -> Notice:
    """Parse the one event with some of its values changed."""
    [notice] = scheduled([EVENT | changes])
    return notice


def test_event_is_a_notice_at_its_beginning_when_well_formed() -> None:
    """A day ahead here; NotAfter is only shown."""
    [notice] = parse_scheduled_events(imds("scheduled-one.json"), RECEIVED, NODE)
    assert notice.kind is NoticeKind.MAINTENANCE
    assert notice.source == "aws_imds"
    assert notice.action == "system-reboot"
    assert notice.deadline is not None
    assert notice.deadline.left_s(RECEIVED) == A_DAY_S
    assert notice.detail == {
        "EventId": "instance-event-0dead000000000001",
        "NotBefore": "21 Dec 2026 09:00:43 GMT",
        "NotAfter": "21 Dec 2026 09:17:23 GMT",
        "Description": "the host needs work",
    }
    assert (
        notice.id == f"aws-scheduled-instance-event-0dead000000000001-2026-12-21T09:00:43Z-{NODE}"
    )


def test_event_is_shown_with_its_latest_beginning_when_it_may_be_put_off() -> None:
    """NotBeforeDeadline is how far a person may move it; the deadline stays the beginning."""
    notice = one(NotBeforeDeadline="1 Jan 2027 00:00:00 GMT")
    assert notice.detail["NotBeforeDeadline"] == "1 Jan 2027 00:00:00 GMT"
    assert notice.deadline == one().deadline


def test_list_is_no_notice_when_empty() -> None:
    """What IMDS answers most of the time."""
    assert parse_scheduled_events(imds("scheduled-none.json"), RECEIVED, NODE) == ()
    assert parse_scheduled_events(b" [ ]\n", RECEIVED, NODE) == ()


def test_list_is_a_notice_for_each_event_when_several_are_not_over() -> None:
    """The completed and the canceled one are left out."""
    notices = parse_scheduled_events(imds("scheduled-several.json"), RECEIVED, NODE)
    assert [(notice.action, notice.kind) for notice in notices] == [
        ("instance-retirement", NoticeKind.HARDWARE),
        ("instance-reboot", NoticeKind.MAINTENANCE),
    ]
    assert all("malformed" not in notice.detail for notice in notices)


@pytest.mark.parametrize(
    "over",
    [
        {"State": "completed"},
        {"State": "canceled"},
        {"State": "cancelled"},
        {"State": "Canceled "},
        {"Description": "[Completed] the host needed work"},
        {"Description": "[Canceled] the host needed work"},
        {"Description": "[cancelled] the host needed work"},
        {"State": None, "Description": " [Completed]"},
    ],
)
def test_event_is_no_notice_when_it_is_over(over: dict[str, object]) -> None:
    """By its state or by its description, in American or British."""
    assert scheduled([EVENT | over]) == ()


@pytest.mark.parametrize(
    "unclear",
    [
        {"State": "active"},
        {"State": ""},
        {"State": None},
        {"State": 5},
        {"State": "complete?"},
        {"Description": "not [Completed]"},
        {"Description": None},
        {"NotAfter": None},
        {"NotAfter": ""},
        {"NotAfter": 5},
    ],
)
def test_event_is_a_notice_when_it_is_not_clearly_over(unclear: dict[str, object]) -> None:
    """And none of these words is needed to act."""
    assert "malformed" not in one(**unclear).detail


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("instance-retirement", NoticeKind.HARDWARE),
        ("instance-stop", NoticeKind.MAINTENANCE),
        ("instance-reboot", NoticeKind.MAINTENANCE),
        ("system-reboot", NoticeKind.MAINTENANCE),
        ("system-maintenance", NoticeKind.MAINTENANCE),
    ],
)
def test_event_has_the_kind_of_its_code_when_it_is_known(code: str, kind: NoticeKind) -> None:
    """A host that retires may be failing already; the others wait for their time."""
    assert one(Code=code).kind is kind
    assert one(Code=code).action == code


@pytest.mark.parametrize("code", [None, "", "System-Reboot", "volume-dance", 7, ["x"], "c" * 5000])
def test_event_is_maintenance_when_its_code_is_odd(code: object) -> None:
    """That something is scheduled is enough."""
    notice = one(Code=code)
    assert notice.kind is NoticeKind.MAINTENANCE
    assert notice.detail["malformed"].startswith("Code")
    assert len(notice.id) < 300


@pytest.mark.parametrize(
    ("time", "left_s"),
    [
        ("20 Dec 2026 10:00:43 GMT", 3600),
        ("2026-12-20T10:00:43Z", 3600),
        ("2026-12-20T10:00:43.000Z", 3600),
        ("Sun, 20 Dec 2026 10:00:43 GMT", 3600),
        ("1 Jan 2027 09:00:43 GMT", 12 * A_DAY_S),
        ("1 Jan 2077 09:00:43 GMT", 90 * A_DAY_S),
    ],
)
def test_event_begins_when_it_says_in_any_way(time: str, left_s: float) -> None:
    """The odd format of the key, RFC 3339 as the API has it, and never beyond belief."""
    notice = one(NotBefore=time)
    assert notice.deadline is not None
    assert notice.deadline.left_s(RECEIVED) == left_s
    assert "malformed" not in notice.detail


@pytest.mark.parametrize("time", [None, "", 5, "soon", "21 Dez 2026 09:00:43 GMT", "21 Dec 2026"])
def test_event_has_no_deadline_when_its_beginning_is_odd(time: object) -> None:
    """The policy counts the kind's own window then."""
    notice = one(NotBefore=time)
    assert notice.deadline is None
    assert notice.detail["malformed"].startswith("NotBefore")


def test_event_keeps_its_id_when_the_time_is_written_differently() -> None:
    """Another time is another fact, another format is not."""
    assert one(NotBefore="2026-12-21T09:00:43Z").id == one().id
    assert one(NotBefore="22 Dec 2026 09:00:43 GMT").id != one().id
    assert one(EventId="instance-event-2").id != one().id


def test_event_stands_when_the_list_has_strange_company() -> None:
    """One entry that can't be read must not cost the others their notice, and is mentioned."""
    [notice] = scheduled([None, EVENT, "x", {}, [EVENT]])
    assert notice.detail["malformed"] == "4 more entries"


FOREIGN = [
    b"",
    b"null",
    b"{}",
    json.dumps(EVENT).encode(),
    b'"[]"',
    b"[null]",
    b"[[]]",
    b'[{"code": "system-reboot"}]',
    b"[17, true]",
    b"[" * 100_000,
    b'[{"Code": "system-reboot"',
    b"<html><body>Sign in</body></html>",
    b"\xff\xfe[",
]


@pytest.mark.parametrize("body", FOREIGN, ids=range(len(FOREIGN)))
def test_list_is_malformed_when_the_body_is_not_the_clouds(body: bytes) -> None:
    """Unknown, which is neither an event nor none."""
    with pytest.raises(SourceMalformed) as caught:
        parse_scheduled_events(body, RECEIVED, NODE)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("state", ["Terminated", "Warmed:Terminated", "terminated\n"])
def test_target_state_is_a_termination_when_it_says_so(state: str) -> None:
    """There is no time in it, so the same state is the same fact at every look."""
    notice = parse_target_lifecycle_state(state.encode(), RECEIVED, NODE)
    assert notice is not None
    assert notice.kind is NoticeKind.TERMINATION
    assert notice.deadline is None
    later = Moment(RECEIVED.wall, RECEIVED.boottime_s + 2)
    again = parse_target_lifecycle_state(state.encode(), later, NODE)
    assert again is not None
    assert again.id == notice.id


@pytest.mark.parametrize(
    "state",
    [
        "InService",
        "Standby",
        "Detached",
        "Warmed:Stopped",
        "Warmed:Running",
        "Warmed:Hibernated",
        "inservice\n",
    ],
)
def test_target_state_is_no_notice_when_it_is_a_documented_other(state: str) -> None:
    """The group says that the instance stays."""
    assert parse_target_lifecycle_state(state.encode(), RECEIVED, NODE) is None


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\n", b"{}", b"<html>", b"not a state", b"\xff", b"a:b:c", b'"Terminated"'),
        *(b"null", b"none", b"Terminating", b"SomethingNew", b"Some:New"),
    ],
)
def test_target_state_is_malformed_when_the_word_is_not_documented(body: bytes) -> None:
    """Neither a yes nor a no: a page of somebody else's says nothing about the group."""
    with pytest.raises(SourceMalformed):
        parse_target_lifecycle_state(body, RECEIVED, NODE)


VALUES = st.none() | st.integers() | st.floats() | st.text(max_size=10) | st.lists(st.integers())


@given(st.lists(st.dictionaries(st.sampled_from(sorted(EVENT)), VALUES) | VALUES, max_size=4))
def test_parsers_answer_or_refuse_when_fed_anything(entries: list[object]) -> None:
    """Nothing else ever comes out."""
    body = json.dumps(entries).encode()
    try:
        notices = parse_scheduled_events(body, RECEIVED, None)
    except SourceMalformed:
        notices = ()
    assert all(notice.id.isascii() for notice in notices)
    with pytest.raises(SourceMalformed):
        parse_target_lifecycle_state(body, RECEIVED, None)
