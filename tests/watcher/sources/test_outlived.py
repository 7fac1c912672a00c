"""When what a queue has said is over."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.clocks import TurnedClock
from tests.support.moto_aws import Moto, spot_warning, state_change
from tests.support.queued_node import ME, QueuedNode, hearing, queued_node
from watcher.notice import Deadline, Notice, NoticeKind
from watcher.sources.aws_windows import OVER_AFTER_S
from watcher.sources.outlived import Outlived


@pytest.fixture
async def node(moto: Moto, clock: TurnedClock) -> AsyncIterator[QueuedNode]:
    """A node with an empty queue."""
    async with queued_node(moto, clock) as made:
        yield made


@pytest.mark.parametrize("kind", OVER_AFTER_S)
@pytest.mark.parametrize("window_s", [120.0, None])
def test_notice_is_withdrawn_once_when_the_node_has_outlived_it(
    clock: TurnedClock, kind: NoticeKind, window_s: float | None
) -> None:
    """Counted from the deadline, or from the receipt of what has none; not a moment before."""
    deadline = None if window_s is None else Deadline.after(clock(), window_s)
    notice = Notice(id="n", kind=kind, source="aws_sqs", received=clock(), deadline=deadline)
    outlived = Outlived((), OVER_AFTER_S)
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
    notice = Notice(id="n", kind=kind, source="aws_sqs", received=clock())
    outlived = Outlived((notice,), OVER_AFTER_S)
    clock.turn(30 * 86_400.0)
    assert outlived.since(clock()) == []


async def test_notice_is_withdrawn_when_the_node_has_outlived_it_by_far(node: QueuedNode) -> None:
    """Nobody takes back what a queue has said; a flag that stays would stop the node for ever."""
    async with hearing(node, node.source()) as source:
        await node.send(spot_warning(ME))
        notice = await node.heard()
        source.acknowledge(notice)
        node.clock.turn(120 + OVER_AFTER_S[NoticeKind.PREEMPTION] + 1)
        await node.send(state_change(ME, "running"))  # ends the long poll
        over = await node.heard()
    assert (over.id, over.withdrawn, over.outcome) == (notice.id, True, "survived")


async def test_notice_is_withdrawn_at_once_when_an_earlier_run_has_left_it_and_it_is_over(
    node: QueuedNode, clock: TurnedClock
) -> None:
    """Without waiting for a message: there may be none for days."""
    left = Notice(id="n", kind=NoticeKind.REBALANCE, source="aws_sqs", received=clock())
    clock.turn(OVER_AFTER_S[NoticeKind.REBALANCE] + 1)
    over = await anext(node.source((left,)).notices())
    assert (over.id, over.withdrawn) == ("n", True)
    assert node.health.keys["messages"].answered is None
