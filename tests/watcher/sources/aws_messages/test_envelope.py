"""The shapes of a message, dressed and undressed, and every body that is not AWS's."""

import json

import pytest

from tests.support.aws_bodies import ABSENT, body, changed, only, read
from watcher.errors import SourceMalformed
from watcher.notice import NoticeKind
from watcher.sources.aws_messages.envelope import MESSAGE_LIMIT_BYTES
from watcher.sources.reading import Grounds, Ignored

SPOT = "spot-interruption-terminate"
PLAIN = body(SPOT)
TEXT = PLAIN.decode()
FACT = only(PLAIN)


def wrapped(message: str, **more: object) -> bytes:
    """Return an SNS envelope around a text."""
    return json.dumps({"Type": "Notification", "Message": message, **more}).encode()


DRESSED: dict[str, bytes | str] = {
    "text": TEXT,
    "text with a byte order mark": "\ufeff" + TEXT,
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "utf-16": TEXT.encode("utf-16"),
    "white space": b"\r\n\t " + PLAIN + b"\n\n",
    "more keys": changed(SPOT, "ingestion-time", {"deep": [[[1]]]}),
    "more detail": changed(SPOT, "detail/new", None),
    "the other spelling": json.dumps(
        {name.replace("-type", "_type"): value for name, value in json.loads(PLAIN).items()}
    ),
    "escapes": TEXT.replace("Spot", "\\u0053pot"),
    "long": changed(SPOT, "padding", "x" * 900_000),
    "nested beside": changed(SPOT, "resources", [[[[[[]]]]]]),
    "no account": changed(SPOT, "account", ABSENT),
    "no resources": changed(SPOT, "resources", ABSENT),
    "another version": changed(SPOT, "version", 1),
    "sns": wrapped(TEXT),
    "sns with all its fields": body("sns-spot-interruption"),
    "sns with a byte order mark inside": wrapped("\ufeff" + TEXT),
    "lone surrogate": TEXT.replace("210987654321", "\\ud800"),
}


@pytest.mark.parametrize("name", DRESSED)
def test_message_is_the_same_fact_when_dressed_differently(name: str) -> None:
    """What surrounds the event does not matter."""
    notice = only(DRESSED[name])
    assert (notice.id, notice.deadline, notice.detail) == (FACT.id, FACT.deadline, FACT.detail)


REFUSED: dict[str, bytes | str] = {
    "nothing": b"",
    "nothing, as text": "",
    "white space": b" \n",
    "null": b"null",
    "number": b"17",
    "text in quotes": b'"EC2 Spot Instance Interruption Warning"',
    "list": b"[" + PLAIN + b"]",
    "empty object": b"{}",
    "half": PLAIN[: len(PLAIN) // 2],
    "twice": PLAIN + PLAIN,
    "single quotes": TEXT.replace('"', "'"),
    "plain text": b"Instance i-0beef000000000001 will be interrupted.",
    "html": b"<!DOCTYPE html><html><body>Sign in</body></html>",
    "not utf-8": PLAIN.replace(b"aws.ec2", b"aws.ec\xff"),
    "only bytes": b"\x00\x01\xff\xfe" * 40,
    "compressed": b"\x1f\x8b\x08\x00\x00\x00",
    "deep": b'{"detail":' * 60_000,
    "deep list": b"[" * 200_000,
    "huge number": b'{"time": ' + b"9" * 5000 + b"}",
    "too large": changed(SPOT, "padding", "x" * MESSAGE_LIMIT_BYTES),
    "lone surrogates": "\ud800\udfff",
    "title is null": changed(SPOT, "detail-type", None),
    "title is a list": changed(SPOT, "detail-type", ["EC2 Spot Instance Interruption Warning"]),
    "no source": changed(SPOT, "source", ABSENT),
    "source is a number": changed(SPOT, "source", 2),
    "no detail": changed(SPOT, "detail", ABSENT),
    "detail is null": changed(SPOT, "detail", None),
    "detail is a list": changed(SPOT, "detail", []),
    "detail is escaped": changed(SPOT, "detail", '{"instance-id": "i-0beef000000000001"}'),
    "detail is empty": changed(SPOT, "detail", {}),
    "keys in another case": TEXT.replace("detail-type", "Detail-Type"),
    "event in a list of messages": json.dumps({"Messages": [{"Body": TEXT}]}),
    "sns around a text": wrapped("The instance will be interrupted."),
    "sns around nothing": wrapped(""),
    "sns around null": wrapped("null"),
    "sns around a list": wrapped("[]"),
    "sns around sns": wrapped(wrapped(TEXT).decode()),
    "sns around deep": wrapped("[" * 100_000),
    "sns message is an object": json.dumps({"Type": "Notification", "Message": {"a": 1}}),
    "sns message is null": json.dumps({"Type": "Notification", "Message": None}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_message_is_refused_when_it_is_not_an_event_of_awss(name: str) -> None:
    """Left for the dead-letter queue, with a reason that is short enough for a log line."""
    with pytest.raises(SourceMalformed) as caught:
        read(REFUSED[name])
    assert 10 < len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "detail_of", ["rebalance-recommendation", "health-reboot", "capacity-block-expiration"]
)
def test_refusal_names_the_rule_when_only_the_detail_is_left(detail_of: str) -> None:
    """InputPath, Input and InputTransformer cut the envelope off; a guess could be wrong."""
    with pytest.raises(SourceMalformed, match="remove Input, InputPath and InputTransformer"):
        read(json.dumps(json.loads(body(detail_of))["detail"]))


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("aws.ec2", "EC2 Command Status-change Notification"),
        ("aws.ec2", "ec2 spot instance interruption warning"),
        ("aws.ec2", "EC2 Spot Instance Interruption Warning "),
        ("aws.ec2", ""),
        ("aws.health", "AWS Health Abuse Event"),
        ("aws.autoscaling", "EC2 Spot Instance Interruption Warning"),
        ("AWS.EC2", "EC2 Spot Instance Interruption Warning"),
        ("my.tests", "EC2 Spot Instance Interruption Warning"),
        ("aws.ec2", "x" * 100_000),
    ],
)
def test_message_is_ignored_when_no_parser_is_for_its_kind(source: str, title: str) -> None:
    """Counted by the caller, under one ground however many kinds there are."""
    message = json.loads(PLAIN) | {"source": source, "detail-type": title}
    reading = read(json.dumps(message))
    assert isinstance(reading, Ignored)
    assert reading.grounds is Grounds.UNKNOWN_KIND
    assert len(reading.why) < 200


@pytest.mark.parametrize("kind", ["SubscriptionConfirmation", "UnsubscribeConfirmation", None, 5])
def test_envelope_is_ignored_when_it_wraps_no_notification(kind: object) -> None:
    """SNS has things of its own to say."""
    reading = read(
        wrapped("You have chosen.").replace(b'"Notification"', json.dumps(kind).encode())
    )
    assert isinstance(reading, Ignored)
    assert reading.grounds is Grounds.UNKNOWN_KIND


def test_detail_of_a_lifecycle_action_is_read_when_it_is_whole() -> None:
    """It says the same as a direct notification; only its time is lost."""
    notice = only(json.dumps(json.loads(body("asg-terminate"))["detail"]))
    assert notice.kind is NoticeKind.TERMINATION
    assert notice.detail["malformed"].startswith("time")
