"""What the bodies of the two EC2 keys mean, also those that EC2 should never send."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.aws_imds_spot import parse_instance_action, parse_rebalance

RECEIVED = Moment(datetime(2026, 11, 30, 10, 5, 6, tzinfo=UTC), 5000.0)
DEFAULT = Deadline.after(RECEIVED, 120)
INSTANCE = "i-0123456789abcdef0"
GOOD_TIME = "2026-11-30T10:07:06Z"


def action(body: bytes | str) -> Notice:
    """Parse a body of spot/instance-action."""
    data = body.encode() if isinstance(body, str) else body
    return parse_instance_action(data, RECEIVED, INSTANCE)


@pytest.mark.parametrize("word", ["terminate", "stop"])
def test_instance_action_is_a_preemption_at_its_time_when_well_formed(word: str) -> None:
    """The two actions with a window keep the stated time."""
    notice = action(f'{{"action": "{word}", "time": "2026-11-30T10:06:46Z"}}')
    assert notice.kind is NoticeKind.PREEMPTION
    assert notice.action == word
    assert notice.deadline == Deadline.after(RECEIVED, 100)
    assert notice.detail == {"time": "2026-11-30T10:06:46Z"}
    assert notice.id == f"aws-spot-{word}-2026-11-30T10:06:46Z-{INSTANCE}"


def test_instance_action_leaves_no_time_when_it_is_hibernate() -> None:
    """Hibernation starts with the notice, whatever time it states."""
    notice = action(f'{{"action": "hibernate", "time": "{GOOD_TIME}"}}')
    assert notice.deadline == Deadline.after(RECEIVED, 0)
    assert "malformed" not in notice.detail


@pytest.mark.parametrize(
    ("time", "left_s"),
    [
        ("2026-11-30T10:05:36.5Z", 30.5),
        ("2026-11-30T10:05:36.123456789Z", 30.123456),
        ("2026-11-30t10:05:36z", 30),
        ("2026-11-30T19:05:36+09:00", 30),
        ("2026-11-30T09:05:06Z", -3600),
        ("2026-11-30T10:37:06Z", 120),
        ("9999-12-31T23:59:59Z", 120),
    ],
)
def test_instance_action_reads_the_time_when_it_is_rfc3339(time: str, left_s: float) -> None:
    """Fractions, offsets and the past are fine; more than was ever promised is cut."""
    notice = action(json.dumps({"action": "terminate", "time": time}))
    assert notice.deadline == Deadline.after(RECEIVED, left_s)
    assert "malformed" not in notice.detail


@pytest.mark.parametrize(
    "body",
    [
        b'\xef\xbb\xbf{"action":"terminate","time":"2026-11-30T10:07:06Z"}',
        b'\r\n {"action":"terminate",\n\t"time":"2026-11-30T10:07:06Z"}\n\n',
        b'{"action":"terminate","time":"2026-11-30T10:07:06Z","version":2,"more":{"a":[1]}}',
        '{"action":"terminate","time":"2026-11-30T10:07:06Z"}'.encode("utf-16"),
    ],
    ids=["byte order mark", "white space", "more keys", "utf-16"],
)
def test_instance_action_is_read_when_dressed_differently(body: bytes) -> None:
    """What surrounds the two facts does not matter."""
    assert action(body).deadline == DEFAULT
    assert "malformed" not in action(body).detail


ODD = [
    '{"action": "terminate"}',
    '{"time": "2026-11-30T10:07:06Z"}',
    '{"action": "terminate", "time": null}',
    '{"action": "terminate", "time": ""}',
    '{"action": "terminate", "time": 1796033226}',
    '{"action": "terminate", "time": 1e999}',
    '{"action": "terminate", "time": NaN}',
    '{"action": "terminate", "time": true}',
    '{"action": "terminate", "time": ["2026-11-30T10:07:06Z"]}',
    '{"action": "terminate", "time": {"at": "2026-11-30T10:07:06Z"}}',
    '{"action": "terminate", "time": "soon"}',
    '{"action": "terminate", "time": "2026-11-30"}',
    '{"action": "terminate", "time": "2026-11-30T10:07:06"}',
    '{"action": "terminate", "time": "2026-13-30T10:07:06Z"}',
    '{"action": "terminate", "time": "2026-11-30T25:07:06Z"}',
    '{"action": "terminate", "time": "2026-11-30T10:07:60Z"}',
    '{"action": "terminate", "time": "0001-01-01T00:00:00+23:59"}',
    '{"action": "terminate", "time": "2026-11-30T10:07:06Z\\n"}',
    '{"action": "terminate", "time": "Mon, 30 Nov 2026 10:07:06 GMT"}',
    '{"action": "terminate", "time": "\\ud800"}',
    '{"action": "terminate", "time": "٢٠٢٦-11-30T10:07:06Z"}',
    '{"action": "evaporate", "time": "2026-11-30T10:07:06Z"}',
    '{"action": "TERMINATE", "time": "2026-11-30T10:07:06Z"}',
    '{"action": "", "time": "2026-11-30T10:07:06Z"}',
    '{"action": null, "time": "2026-11-30T10:07:06Z"}',
    '{"action": 7, "time": "2026-11-30T10:07:06Z"}',
    '{"action": ["stop"], "time": "2026-11-30T10:07:06Z"}',
    '{"action": "\\ud800\\u0000", "time": "2026-11-30T10:07:06Z"}',
    '{"action": "' + "x" * 5000 + '", "time": "y"}',
    '{"action": "terminate", "time": ' + "[" * 400 + "]" * 400 + "}",
    '{"action": null, "time": null}',
]


@pytest.mark.parametrize("body", ODD)
def test_instance_action_is_a_notice_with_the_default_window_when_odd(body: str) -> None:
    """A positive answer stays one: a detail we can't read must not cost the notice."""
    notice = action(body)
    assert notice.kind is NoticeKind.PREEMPTION
    assert notice.deadline == DEFAULT
    assert notice.detail["malformed"]
    assert action(body).id == notice.id
    assert len(json.dumps(dict(notice.detail))) < 1000


FOREIGN = [
    b"",
    b" ",
    b"null",
    b"true",
    b"42",
    b'"terminate"',
    b"[]",
    b'[{"action": "terminate", "time": "2026-11-30T10:07:06Z"}]',
    b"{}",
    b'{"error": {"code": 404, "message": "not found"}}',
    b'{"Action": "terminate"}',
    b'{"action": "terminate", "time": "2026-11-',
    b'{"action": "terminate", "time": "2026-11-30T10:07:06Z"',
    b'{"action": "terminate"} {"action": "stop"}',
    b"{'action': 'terminate'}",
    b"action: terminate",
    b"none",
    b"<!DOCTYPE html><html><body>Sign in to continue</body></html>",
    b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>',
    b"\x00\x01\x02\xff\xfe",
    b"\xff" * 1000,
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    b"[" * 60_000,
    b'{"action":' * 6_000,
    b'{"time": ' + b"9" * 5_000 + b"}",
    "{“action”: “terminate”}".encode(),
]


@pytest.mark.parametrize("body", FOREIGN, ids=range(len(FOREIGN)))
def test_instance_action_is_malformed_when_the_body_is_not_the_clouds(body: bytes) -> None:
    """Captive portals, proxies, half answers: unknown, which is neither yes nor no."""
    with pytest.raises(SourceMalformed) as caught:
        action(body)
    assert len(str(caught.value)) < 500


def test_rebalance_is_advice_without_deadline_when_well_formed() -> None:
    """noticeTime is when the signal was emitted, not when anything happens."""
    notice = parse_rebalance(b'{"noticeTime": "2026-11-30T09:58:14Z"}', RECEIVED, INSTANCE)
    assert notice.kind is NoticeKind.REBALANCE
    assert notice.deadline is None
    assert notice.detail == {"noticeTime": "2026-11-30T09:58:14Z"}
    assert notice.id == f"aws-rebalance-2026-11-30T09:58:14Z-{INSTANCE}"


@pytest.mark.parametrize("value", ["null", '"yesterday"', "17", "{}", '""'])
def test_rebalance_is_advice_when_its_time_is_odd(value: str) -> None:
    """The time is only shown, so it can't make the advice less true."""
    notice = parse_rebalance(f'{{"noticeTime": {value}}}'.encode(), RECEIVED, None)
    assert notice.kind is NoticeKind.REBALANCE
    assert notice.detail["malformed"].startswith("noticeTime")


@pytest.mark.parametrize("body", [*FOREIGN, b'{"action": "terminate"}'], ids=range(27))
def test_rebalance_is_malformed_when_the_body_is_not_the_clouds(body: bytes) -> None:
    """The other key's body is as foreign here as a web page."""
    with pytest.raises(SourceMalformed):
        parse_rebalance(body, RECEIVED, INSTANCE)


def test_id_tells_instances_apart_and_not_polls_when_compared() -> None:
    """Stable across polls and restarts, and different on two nodes."""
    body = f'{{"action": "stop", "time": "{GOOD_TIME}"}}'.encode()
    later = Moment(RECEIVED.wall + timedelta(seconds=30), 5030.0)
    first = parse_instance_action(body, RECEIVED, INSTANCE)
    assert parse_instance_action(body, later, INSTANCE).id == first.id
    assert parse_instance_action(body, RECEIVED, "i-0fedcba9876543210").id != first.id
    assert parse_instance_action(body, RECEIVED, None).id.endswith("-unknown")


@given(st.binary(max_size=200))
def test_parsers_answer_or_refuse_when_fed_any_bytes(body: bytes) -> None:
    """No body whatever raises anything but SourceMalformed."""
    for parse in (parse_instance_action, parse_rebalance):
        try:
            notice = parse(body, RECEIVED, None)
        except SourceMalformed:
            continue
        assert notice.received == RECEIVED


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON_VALUES, JSON_VALUES)
def test_instance_action_has_a_deadline_in_bounds_when_values_are_anything(
    word: object, time: object
) -> None:
    """Whatever the two values are, the notice stands and no more than 120 s are believed."""
    notice = action(json.dumps({"action": word, "time": time}))
    assert notice.deadline is not None
    assert notice.deadline.boottime_s <= RECEIVED.boottime_s + 120
    assert notice.id.isascii()
    assert " " not in notice.id


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)))  # noqa: DTZ001 - hypothesis wants naive bounds
def test_instance_action_never_moves_a_time_later_when_it_can_be_read(stated: datetime) -> None:
    """The deadline is the stated time, or earlier because of the promised window."""
    text = stated.replace(microsecond=0).isoformat() + "Z"
    notice = action(json.dumps({"action": "stop", "time": text}))
    assert notice.deadline is not None
    assert notice.deadline.wall <= stated.replace(tzinfo=UTC)
    assert "malformed" not in notice.detail
