"""Auto Scaling's lifecycle actions: a group ends an instance, and may wait for our word.

They come through EventBridge or straight from a hook with a notification target; the keys that
matter are the same. Source: EC2 Auto Scaling user guide, "EventBridge event reference" and
"Prepare to add a lifecycle hook" (read 2026-11-30).
"""

import re

from watcher.aws.hook import LifecycleHook
from watcher.notice import Notice, NoticeKind
from watcher.sources.aws_messages.event import Event
from watcher.sources.aws_words import QUEUE
from watcher.sources.reading import (
    ForInstance,
    Grounds,
    Ignored,
    Notices,
    Reading,
)
from watcher.sources.words import detail, notice_id, shown, word

_TOLD = ("AutoScalingGroupName", "LifecycleHookName", "Origin", "Destination")

_NAME = re.compile(r"[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]{1,1600}")
"""A name of AWS's, kept whole: one that was cut would complete nothing. Half a surrogate pair is in
none, and can't be sent. Source: Auto Scaling API reference, CompleteLifecycleAction, whose pattern
counts in UTF-16 (read 2026-11-30)."""


def parse_terminate_action(event: Event) -> Reading:
    """Return the termination, and the hook that holds it back.

    There is no deadline: the message does not say how long the hook waits. A hook never extends a
    Spot interruption, whose own notice then has the earlier deadline.

    Raises:
        SourceMalformed: It names no instance.
    """
    said = event.said
    instance_id = event.instance_id("EC2InstanceId")
    hook = _hook(event)
    odd = event.oddities
    if hook is None:
        odd += [shown("AutoScalingGroupName", said), shown("LifecycleHookName", said)]
    notice = Notice(
        id=notice_id("aws-asg", word(said.get("LifecycleActionToken")) or event.key, instance_id),
        kind=NoticeKind.TERMINATION,
        source=QUEUE,
        received=event.received,
        action="terminate",
        instance_id=instance_id,
        detail=detail({name: word(said.get(name)) for name in _TOLD}, odd),
    )
    return Notices((ForInstance(notice=notice, instance_id=instance_id, hook=hook),))


def parse_launch_action(event: Event) -> Reading:
    """Ignore a launch: an instance is coming, not going."""
    instance_id = word(event.said.get("EC2InstanceId"))
    return Ignored(Grounds.NOT_ENDING, f"an auto-scaling group launches {instance_id!r}")


def parse_test_notification(event: Event) -> Reading:
    """Ignore the message that Auto Scaling sends when a hook is made."""
    return Ignored(Grounds.TEST, f"{event.title} only tries the way")


def _hook(event: Event) -> LifecycleHook | None:
    group = _name(event.said.get("AutoScalingGroupName"))
    name = _name(event.said.get("LifecycleHookName"))
    if group is None or name is None:
        return None
    return LifecycleHook(
        group=group, name=name, token=_name(event.said.get("LifecycleActionToken"))
    )


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None
