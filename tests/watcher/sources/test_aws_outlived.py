"""When what a queue has said is over."""

from dataclasses import replace

import pytest

from tests.support.clocks import TurnedClock
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.aws_outlived import OVER_AFTER_S, Outlived


@pytest.mark.parametrize("kind", OVER_AFTER_S)
@pytest.mark.parametrize("window_s", [120.0, None])
def test_notice_is_withdrawn_once_when_the_node_has_outlived_it(
    clock: TurnedClock, kind: NoticeKind, window_s: float | None
) -> None:
    """Counted from the deadline, or from the receipt of what has none; not a moment before."""
    deadline = None if window_s is None else Deadline.after(clock(), window_s)
    notice = Notice(id="n", kind=kind, source="aws_sqs", received=clock(), deadline=deadline)
    outlived = Outlived(())
    outlived.add(notice)
    clock.turn((window_s or 0.0) + OVER_AFTER_S[kind])
    assert outlived.since(clock()) == []
    clock.turn(1)
    assert outlived.since(clock()) == [replace(notice, withdrawn=True, outcome="survived")]
    assert outlived.since(clock()) == []


@pytest.mark.parametrize("kind", [NoticeKind.MAINTENANCE, NoticeKind.HARDWARE])
def test_work_on_a_host_is_not_withdrawn_when_it_is_late(
    clock: TurnedClock, kind: NoticeKind
) -> None:
    """It may be late by days, and the metadata service says when it is over."""
    outlived = Outlived((Notice(id="n", kind=kind, source="aws_sqs", received=clock()),))
    clock.turn(30 * 86_400.0)
    assert outlived.since(clock()) == []
