"""``EC2 Instance Rebalance Recommendation``: the risk of an interruption has risen.

Source: EC2 user guide, "EC2 instance rebalance recommendations" (read 2026-11-30).
"""

from watcher.notice import Notice, NoticeKind
from watcher.sources.aws_messages.event import Event
from watcher.sources.aws_words import QUEUE
from watcher.sources.reading import ForInstance, Notices, Reading
from watcher.sources.words import detail, notice_id


def parse_rebalance_recommendation(event: Event) -> Reading:
    """Return the advice; it has no deadline, and an interruption need not follow.

    Raises:
        SourceMalformed: It names no instance.
    """
    instance_id = event.instance_id("instance-id")
    notice = Notice(
        id=notice_id("aws-rebalance-advice", event.key, instance_id),
        kind=NoticeKind.REBALANCE,
        source=QUEUE,
        received=event.received,
        instance_id=instance_id,
        detail=detail({}, event.oddities),
    )
    return Notices((ForInstance(notice=notice, instance_id=instance_id),))
