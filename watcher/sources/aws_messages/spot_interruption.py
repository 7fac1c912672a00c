"""``EC2 Spot Instance Interruption Warning``: EC2 takes a Spot instance back.

Source: EC2 user guide, "Spot Instance interruption notices" (read 2026-11-30).
"""

from watcher.notice import Notice, NoticeKind
from watcher.sources.aws_messages.event import Event
from watcher.sources.aws_windows import SPOT_ACTIONS, spot_window_s
from watcher.sources.aws_words import QUEUE
from watcher.sources.reading import ForInstance, Notices, Reading
from watcher.sources.words import detail, notice_id, shown, word


def parse_spot_interruption(event: Event) -> Reading:
    """Return the preemption; the event states no time, so its window counts from when it was said.

    Raises:
        SourceMalformed: It names no instance.
    """
    instance_id = event.instance_id("instance-id")
    action = word(event.said.get("instance-action"))
    odd = event.oddities
    if action not in SPOT_ACTIONS:
        odd.append(shown("instance-action", event.said))
    notice = Notice(
        id=notice_id("aws-spot-warning", action, event.key, instance_id),
        kind=NoticeKind.PREEMPTION,
        source=QUEUE,
        received=event.received,
        deadline=event.deadline(spot_window_s(action)),
        action=action,
        instance_id=instance_id,
        detail=detail({}, odd),
    )
    return Notices((ForInstance(notice=notice, instance_id=instance_id),))
