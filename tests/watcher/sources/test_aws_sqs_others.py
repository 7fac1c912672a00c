"""What a node does with a message that is for other nodes too, against moto's SQS."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.support.aws_bodies import body
from tests.support.clocks import TurnedClock
from tests.support.moto_aws import Moto
from tests.support.queued_node import ME, QueuedNode, hearing, queued_node
from watcher.aws.ec2 import Member
from watcher.notice import NoticeKind

OTHER = "i-0abc000000000002"


@pytest.fixture
async def node(moto: Moto, clock: TurnedClock) -> AsyncIterator[QueuedNode]:
    """A node with an empty queue."""
    async with queued_node(moto, clock) as made:
        yield made


def retirement(*instance_ids: str) -> str:
    """Return what AWS Health says of the hosts of these instances."""
    message = json.loads(body("health-retirement-of-three"))
    message["detail"]["affectedEntities"] = [{"entityValue": name} for name in instance_ids]
    return json.dumps(message)


async def heard_and_done(node: QueuedNode, message: str) -> NoticeKind:
    """Hear the message and acknowledge it; what was to be deleted is deleted after that."""
    async with hearing(node, node.source()) as source:
        await node.send(message)
        notice = await node.heard()
        source.acknowledge(notice)
        await node.hands.custody.emptied()
    return notice.kind


async def test_message_is_left_when_it_names_another_node_too(node: QueuedNode) -> None:
    """Acted on here; deleted, it would never be heard there."""
    assert await heard_and_done(node, retirement(OTHER, ME)) is NoticeKind.HARDWARE
    assert node.moto.counts(node.url) == (0, 1)


async def test_message_is_left_when_it_is_about_a_reservation(node: QueuedNode) -> None:
    """Everybody in it has to hear it."""
    node.ec2.told = [Member(ME, "p5.48xlarge")]
    message = json.loads(body("capacity-block-expiration"))
    message["detail"]["end-date"] = "2026-11-30T10:45:06Z"
    assert await heard_and_done(node, json.dumps(message)) is NoticeKind.CAPACITY_END
    assert node.moto.counts(node.url) == (0, 1)


async def test_message_is_deleted_when_all_that_it_names_is_this_node(node: QueuedNode) -> None:
    """However often it names it."""
    async with hearing(node, node.source()) as source:
        await node.send(retirement(ME, ME))
        source.acknowledge(await node.heard())
        await node.has(0, 0)


async def test_message_is_deleted_when_it_repeats_a_plan_of_days_ago(node: QueuedNode) -> None:
    """All that could be done about it now was done then; its time is still to come."""
    async with hearing(node, node.source()) as source:
        await node.send(retirement(ME))
        source.acknowledge(await node.heard())
        await node.has(0, 0)
        node.clock.turn(3 * 86_400.0)
        await node.send(retirement(ME))
        await node.told("duplicate")
        await node.has(0, 0)
        assert node.inbox.empty()


async def test_message_for_others_too_is_no_news_when_it_comes_again(node: QueuedNode) -> None:
    """It does, every 30 s, for as long as the queue keeps it."""
    async with hearing(node, node.source()) as source:
        await node.send(retirement(OTHER, ME))
        notice = await node.heard()
        await node.send(retirement(OTHER, ME))
        await node.told("duplicate")
        source.acknowledge(notice)
        await node.send(retirement(OTHER, ME))
        await node.told("duplicate", 2)
        await node.has(0, 3)
        assert node.inbox.empty()
