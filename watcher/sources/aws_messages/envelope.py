"""The shapes in which AWS's messages lie in a queue, down to the event that is in them.

Five shapes share one queue: an EventBridge event; a notification straight from an auto-scaling
hook; its test message; any of them wrapped by SNS; and what an Input, InputPath or
InputTransformer of a rule has left of an event, which is refused, because a guess could be wrong.

Source: reference sheet on cloud reclaim contracts, sections 1.4 and 7.19 (read 2026-11-30).
"""

from collections.abc import Mapping

from watcher.errors import SourceMalformed
from watcher.notice import Moment
from watcher.sources.aws_messages.event import Event, as_event
from watcher.sources.aws_messages.registry import PARSERS
from watcher.sources.reading import Grounds, Ignored, Reading
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import decoded, word

MESSAGE_LIMIT_BYTES = 1_048_576
"""Largest message that SQS carries. Source: SQS API reference, SendMessage (read 2026-11-30)."""

_DETAIL_ONLY = frozenset(
    {
        "instance-id",
        "instance-action",
        "instance-termination-time",
        "capacity-reservation-id",
        "EC2InstanceId",
        "LifecycleActionToken",
        "eventTypeCode",
        "affectedEntities",
    }
)
"""Keys that AWS writes inside a ``detail``, never beside it."""


def parse_message(body: bytes | str, received: Moment) -> Reading:
    """Return what a message is to us: notices with their addressees, or why it is nothing.

    ``received`` is when the message left the queue. A message of a kind without a parser is
    ignored; one that has a parser but names nobody is refused, and so is a body that is not AWS's.

    Raises:
        SourceMalformed: The body is refused; the message says for what.
    """
    if len(body) > MESSAGE_LIMIT_BYTES:
        raise SourceMalformed(f"message: larger than {MESSAGE_LIMIT_BYTES} bytes")
    data = _object(decoded(body, "message"), "message")
    if "Type" in data and "Message" in data:
        if data["Type"] != "Notification":
            return Ignored(Grounds.UNKNOWN_KIND, f"SNS sends {word(data['Type'])!r}, no event")
        data = _unwrapped(data)
    event = _event(data, received)
    parse = PARSERS.get((event.source, event.title))
    if parse is None:
        said = f"{event.title[:80]!r} of {event.source[:40]!r}"
        return Ignored(Grounds.UNKNOWN_KIND, f"no parser is for {said}")
    return parse(event)


def _unwrapped(data: Mapping[str, object]) -> Mapping[str, object]:
    """Return the message in an SNS envelope, one level deep: nothing of AWS's is wrapped twice."""
    text = data.get("Message")
    if not isinstance(text, str):
        raise SourceMalformed(f"SNS envelope: Message is {type(text).__name__}, no text")
    return _object(decoded(text, "message in an SNS envelope"), "message in an SNS envelope")


def _object(data: object, what: str) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise SourceMalformed(f"{what}: {type(data).__name__}, not an object")
    return data


def _event(data: Mapping[str, object], received: Moment) -> Event:
    if "detail-type" in data or "detail_type" in data:
        return as_event(data, received)
    said = [word(data.get(name)) for name in ("Event", "LifecycleTransition")]
    titles = [title for title in said if title and title.startswith("autoscaling:")]
    if titles:
        return Event(
            source="aws.autoscaling",
            title=titles[0],
            said=data,
            id=word(data.get("RequestId")),
            emitted=rfc3339_instant(data.get("Time")),
            resources=(),
            received=received,
        )
    names = ", ".join(sorted(repr(name[:40]) for name in data)[:8]) or "no keys"
    if not _DETAIL_ONLY.isdisjoint(data):
        raise SourceMalformed(
            f"message: the detail of an event without its envelope ({names}); remove Input, "
            "InputPath and InputTransformer from the EventBridge rule's target"
        )
    raise SourceMalformed(f"message: of no shape that AWS sends ({names})")
