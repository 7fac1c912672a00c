"""Whatever a message says, what comes out can be acted on, and logged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.aws_bodies import MESSAGES, RECEIVED, body, changed
from watcher.errors import SourceMalformed
from watcher.sources.aws_messages.envelope import parse_message
from watcher.sources.aws_messages.registry import PARSERS
from watcher.sources.reading import Ignored, Notices

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted(
    {key for name in MESSAGES for key in json.loads(body(name))}
    | {key for name in MESSAGES for key in json.loads(body(name)).get("detail", {})}
)
WORDS = st.sampled_from(
    [
        "i-0beef000000000001",
        "cr-1",
        "terminate",
        "hibernate",
        "EC2",
        "scheduledChange",
        "closed",
        "2026-11-30T10:05:06Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "1 Jan 0001 00:00:00 GMT",
        "Sat, 12 Dec 2026 15:10:09 GMT",
        "terminated",
        "Notification",
        "{}",
    ]
)
DETAILS = st.dictionaries(st.sampled_from(KEYS), WORDS | JSON, max_size=6)


def is_sound(message: bytes | str) -> None:
    """Read a message; whatever it is, what comes out can be acted on."""
    try:
        reading = parse_message(message, RECEIVED)
    except SourceMalformed as error:
        why = str(error)
        assert why.isprintable()
        return
    if isinstance(reading, Ignored):
        assert reading.why
        assert reading.why.isprintable()
        return
    assert isinstance(reading, Notices)
    assert reading.addressed
    for told in reading.addressed:
        assert told.notice.id.isascii()
        assert " " not in told.notice.id
        assert len(json.dumps(dict(told.notice.detail))) < 5000
        if told.notice.deadline is not None:
            assert told.notice.deadline.boottime_s <= RECEIVED.boottime_s + 90 * 86_400


HOSTILE = "x\n2026-11-30 notice admitted\x1b[2J\u2028"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("spot-interruption-stop", "detail-type"),
        ("spot-interruption-stop", "source"),
        ("spot-interruption-stop", "detail/instance-id"),
        ("sns-subscription-confirmation", "Type"),
        ("sns-spot-interruption", "Message"),
        ("state-change-running", "detail/state"),
        ("asg-launch", "detail/EC2InstanceId"),
        ("asg-test-notification", "Event"),
        ("capacity-block-delivered", "detail/capacity-reservation-id"),
        ("capacity-block-expiration", "detail/capacity-reservation-id"),
        ("health-closed", "detail/eventTypeCode"),
        ("health-dedicated-host", "detail/eventTypeCode"),
        ("health-reboot", "detail/service"),
        ("health-reboot", "detail/eventTypeCategory"),
        ("input-path-detail", HOSTILE),
    ],
)
def test_reason_is_one_printable_line_when_a_message_quotes_another(name: str, path: str) -> None:
    """It goes into the log as it is, and must not be able to look like more of the log."""
    assert not HOSTILE.isprintable()
    is_sound(changed(name, path, HOSTILE))


@given(st.sampled_from(sorted(PARSERS)), DETAILS, st.dictionaries(st.sampled_from(KEYS), JSON))
def test_parser_answers_or_refuses_when_a_detail_is_anything(
    kind: tuple[str, str], detail: dict[str, object], more: dict[str, object]
) -> None:
    """Every parser, under a good envelope and a spoilt one."""
    envelope = {"source": kind[0], "detail-type": kind[1], "detail": detail}
    is_sound(json.dumps(envelope | {"time": detail.get("endTime", "2026-11-30T10:05:06Z")}))
    is_sound(json.dumps(more | envelope))
    is_sound(json.dumps(envelope | more))
    is_sound(json.dumps(detail | {"LifecycleTransition": kind[1]}))


@given(st.sampled_from(MESSAGES), st.sampled_from(KEYS), WORDS | JSON)
def test_parser_answers_or_refuses_when_one_value_is_anything(
    name: str, key: str, value: object
) -> None:
    """Each documented body with one value replaced, beside the detail and in it."""
    message = json.loads(body(name))
    is_sound(json.dumps(message | {key: value}))
    if "detail" in message:
        is_sound(json.dumps(message | {"detail": message["detail"] | {key: value}}))


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_parser_answers_or_refuses_when_fed_anything(message: bytes | str) -> None:
    """Bytes and texts, surrogates among them."""
    is_sound(message)
