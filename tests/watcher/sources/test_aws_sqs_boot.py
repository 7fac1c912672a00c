"""What a node's queue still says of its life before this boot, against moto's SQS."""

from collections.abc import AsyncIterator

import pytest

from tests.support.clocks import TurnedClock
from tests.support.moto_aws import Moto, spot_warning, state_change
from tests.support.queued_node import ME, QueuedNode, hearing, queued_node
from watcher.notice import NoticeKind

BEFORE, BOOT = "2026-11-30T08:41:45Z", "2026-11-30T08:41:46Z"
"""By the clocks of the test this boot began 5,000 s ago."""


@pytest.fixture
async def node(moto: Moto, clock: TurnedClock) -> AsyncIterator[QueuedNode]:
    """A node with an empty queue."""
    async with queued_node(moto, clock) as made:
        yield made


@pytest.mark.parametrize("state", ["stopping", "stopped", "shutting-down", "terminated"])
async def test_state_change_is_deleted_unheard_when_it_was_said_before_this_boot(
    node: QueuedNode, caplog: pytest.LogCaptureFixture, state: str
) -> None:
    """The node was stopped and started again meanwhile; heard, it would be stopped for ever."""
    caplog.set_level("INFO")
    async with hearing(node, node.source()):
        await node.send(state_change(ME, state, BEFORE))
        await node.told("ignored_before_boot")
        await node.has(0, 0)
        assert node.inbox.empty()
    assert f"it was said before {BOOT}, when this node was booted" in caplog.text


@pytest.mark.parametrize("said", [BOOT, "2026-11-30T10:05:00Z", ""])
async def test_state_change_is_heard_when_it_may_be_of_this_boot(
    node: QueuedNode, said: str
) -> None:
    """Also where nobody can tell when it was said."""
    async with hearing(node, node.source()):
        await node.send(state_change(ME, "shutting-down", said))
        assert (await node.heard()).kind is NoticeKind.TERMINATION


async def test_spot_warning_is_heard_when_it_was_said_before_this_boot(node: QueuedNode) -> None:
    """A node that boots anew within its two minutes is still taken."""
    async with hearing(node, node.source()):
        await node.send(spot_warning(ME, said=BEFORE))
        assert (await node.heard()).kind is NoticeKind.PREEMPTION
