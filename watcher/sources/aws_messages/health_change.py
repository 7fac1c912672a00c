"""``AWS Health Event``: EC2 has scheduled work on the hosts of some instances.

One message names many instances, and each is told by itself. Updates repeat an event under its
ARN; what makes a fact new is another start for the same instance.

Source: AWS Health user guide, "AWS Health events Amazon EventBridge schema" (read 2026-11-30).
"""

from collections.abc import Mapping

from watcher.errors import SourceMalformed
from watcher.notice import Notice, NoticeKind
from watcher.sources.aws_messages.event import Event, as_instance_id
from watcher.sources.aws_times import any_instant
from watcher.sources.aws_windows import SCHEDULED_WINDOW_S
from watcher.sources.aws_words import QUEUE
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices, Reading
from watcher.sources.words import detail, notice_id, shown, word

_OVER = ("_CANCELED", "_CANCELLED", "_COMPLETE", "_COMPLETED")
"""Ends of codes that take an announcement back. There is no closed list of codes, so any other
code of a scheduled change counts as one."""

_CODE_LIMIT_CHARS = 128
_ARN_LIMIT_CHARS = 512


def parse_health_event(event: Event) -> Reading:
    """Return the scheduled change to each EC2 instance it affects.

    Raises:
        SourceMalformed: It says neither which service nor which kind of event it is, or is a
            scheduled change of EC2's that names nothing affected.
    """
    said = event.said
    service, category = word(said.get("service")), word(said.get("eventTypeCategory"))
    if service is None or category is None:
        raise SourceMalformed(
            f"{event.title}: {shown('service', said)}, {shown('eventTypeCategory', said)}"
        )
    if service != "EC2" or category != "scheduledChange":
        return Ignored(
            Grounds.NOT_INSTANCES, f"{service!r} {category!r} is no scheduled change of EC2's"
        )
    code = word(said.get("eventTypeCode"), _CODE_LIMIT_CHARS) or ""
    if said.get("statusCode") == "closed" or code.endswith(_OVER):
        return Ignored(Grounds.CLOSED, f"{code!r} is closed or canceled")
    instances = _instances(event)
    if not instances:
        return Ignored(Grounds.NOT_INSTANCES, f"{code!r} affects no instance")
    return Notices(
        tuple(
            ForInstance(notice=_notice(event, code, instance_id), instance_id=instance_id)
            for instance_id in instances
        )
    )


def _instances(event: Event) -> tuple[str, ...]:
    """Return the affected instances, each once, in the order they are named."""
    entities = event.said.get("affectedEntities")
    named = [
        entity.get("entityValue")
        for entity in (entities if isinstance(entities, list) else [])
        if isinstance(entity, Mapping)
    ]
    named += [] if named else event.resources
    if not named:
        raise SourceMalformed(f"{event.title}: {shown('affectedEntities', event.said)}, unnamed")
    found = (as_instance_id(name) for name in named)
    return tuple(dict.fromkeys(name for name in found if name))


def _notice(event: Event, code: str, instance_id: str) -> Notice:
    said = event.said
    start = word(said.get("startTime"))
    starts = any_instant(said.get("startTime"))
    arn = word(said.get("eventArn"), _ARN_LIMIT_CHARS)
    odd = event.oddities
    odd += [] if code.endswith("_SCHEDULED") else [shown("eventTypeCode", said)]
    odd += [] if starts else [shown("startTime", said)]
    deadline = event.stated(starts, SCHEDULED_WINDOW_S) if starts else None
    return Notice(
        # The ARN's end names the event; what is before says that it is one of EC2's.
        id=notice_id(
            "aws-health", arn.rpartition("/")[2] if arn else event.key, start, instance_id
        ),
        kind=NoticeKind.HARDWARE if "RETIREMENT" in code else NoticeKind.MAINTENANCE,
        source=QUEUE,
        received=event.received,
        deadline=deadline,
        action=code or None,
        instance_id=instance_id,
        detail=detail(
            {
                "eventArn": arn,
                "startTime": start,
                "endTime": word(said.get("endTime")),
                "eventRegion": word(said.get("eventRegion")),
                "affectedAccount": word(said.get("affectedAccount")),
            },
            odd,
        ),
    )
