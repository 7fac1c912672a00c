"""``EC2 Instance State-change Notification``: an instance begins to end, whoever wanted it.

Source: EC2 user guide, "Monitor instance state changes using Amazon EventBridge" (read 2026-11-30).
"""

from watcher.errors import SourceMalformed
from watcher.notice import Notice, NoticeKind
from watcher.sources.aws_messages.event import Event
from watcher.sources.aws_words import QUEUE
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices, Reading
from watcher.sources.words import detail, notice_id, shown, word

_TERMINATED = "terminated"
_ENDING = ("stopping", "stopped", "shutting-down", _TERMINATED)


def parse_state_change(event: Event) -> Reading:
    """Return the termination that the new state is part of; it is under way, so no time is left.

    The instance is stopped and started again within minutes if that is what somebody wanted, while
    the message is still there; a boot since then shows it.

    Only whole words count: a handler that looked for substrings has drained nodes on ``""``.

    Raises:
        SourceMalformed: It names no instance or no state.
    """
    instance_id = event.instance_id("instance-id")
    said = word(event.said.get("state"))
    if said is None:
        raise SourceMalformed(f"{event.title}: {shown('state', event.said)}")
    state = said.strip().lower()
    if state not in _ENDING:
        return Ignored(Grounds.NOT_ENDING, f"state {said!r} of {instance_id} is not an end")
    notice = Notice(
        id=notice_id("aws-state", state, event.key, instance_id),
        kind=NoticeKind.TERMINATION,
        source=QUEUE,
        received=event.received,
        deadline=event.deadline(0.0),
        action=said,
        instance_id=instance_id,
        detail=detail({}, event.oddities),
    )
    told = ForInstance(
        notice=notice,
        instance_id=instance_id,
        over_if_booted_after=event.emitted,
        is_terminated=state == _TERMINATED,
    )
    return Notices((told,))
