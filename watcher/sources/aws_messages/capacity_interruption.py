"""``EC2 Capacity Reservation Instance Interruption Warning``: a reservation's instance is taken.

The two pages that describe it differ in one key, ``azId`` or ``availability-zone-id``, and in
``resources``, a text or a list; neither is needed to act.

Source: EC2 user guide, "Monitor interruptible Capacity Reservations" and "Monitor Capacity Blocks
using EventBridge" (read 2026-11-30).
"""

from watcher.notice import Notice, NoticeKind
from watcher.sources.aws_messages.event import Event
from watcher.sources.aws_times import any_instant
from watcher.sources.aws_windows import CAPACITY_BLOCK_WINDOW_S, RESERVATION_WINDOW_S
from watcher.sources.aws_words import QUEUE
from watcher.sources.reading import ForInstance, Notices, Reading
from watcher.sources.words import detail, notice_id, shown, word


def parse_capacity_interruption(event: Event) -> Reading:
    """Return the end of the capacity at the time that the event states.

    Raises:
        SourceMalformed: It names no instance.
    """
    said = event.said
    instance_id = event.instance_id("instance-id")
    time = word(said.get("instance-termination-time"))
    ends = any_instant(said.get("instance-termination-time"))
    odd = event.oddities
    deadline = event.deadline(RESERVATION_WINDOW_S)
    if ends is None:
        odd.append(shown("instance-termination-time", said))
    else:
        is_block = said.get("instance-lifecycle") == "capacity-block"
        longest_s = CAPACITY_BLOCK_WINDOW_S if is_block else RESERVATION_WINDOW_S
        deadline = event.stated(ends, longest_s)
    notice = Notice(
        id=notice_id("aws-capacity-interruption", time or event.key, instance_id),
        kind=NoticeKind.CAPACITY_END,
        source=QUEUE,
        received=event.received,
        deadline=deadline,
        action=word(said.get("instance-action")),
        instance_id=instance_id,
        detail=detail(
            {
                "instance-termination-time": time,
                "availability-zone-id": word(said.get("availability-zone-id", said.get("azId"))),
                "instance-lifecycle": word(said.get("instance-lifecycle")),
            },
            odd,
        ),
    )
    return Notices((ForInstance(notice=notice, instance_id=instance_id),))
