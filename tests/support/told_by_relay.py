"""What a queue tells the relay."""

from dataclasses import replace
from typing import Any

from tests.support.clocks import START
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.reading import ForInstance


def told(name: str = "a", **changes: Any) -> ForInstance:  # noqa: ANN401 - Notice's own
    """Return a notice as a queue brings it to the relay."""
    notice = Notice(
        id=f"aws-spot-{name}",
        kind=NoticeKind.PREEMPTION,
        source="aws_sqs",
        received=START,
        deadline=Deadline.after(START, 120),
        action="terminate",
        instance_id="i-0123",
        detail={"time": "2026-11-30T10:07:06Z"},
    )
    return ForInstance(notice=replace(notice, **changes), instance_id="i-0123")
