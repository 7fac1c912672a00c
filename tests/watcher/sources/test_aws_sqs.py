"""A node's queue, against moto's SQS: what is heard, kept, deleted and left."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.aws_bodies import body
from tests.support.clocks import TurnedClock, eventually
from tests.support.moto_aws import Moto, spot_warning, state_change
from tests.support.queued_node import ME, QueuedNode, hearing, queued_node
from watcher.aws import limited_calls
from watcher.aws.ec2 import Member
from watcher.notice import Deadline, NoticeKind

OTHER = "i-0abc000000000002"
STATE_RUNNING = state_change(ME, "running")


@pytest.fixture
async def node(moto: Moto, clock: TurnedClock) -> AsyncIterator[QueuedNode]:
    """A node with an empty queue."""
    async with queued_node(moto, clock) as made:
        yield made


async def test_message_is_deleted_only_when_its_notice_is_acknowledged(node: QueuedNode) -> None:
    """Until then it is hidden, so that a daemon that dies hears it again."""
    async with hearing(node, node.source()) as source:
        await node.send(spot_warning(ME))
        notice = await node.heard()
        assert (notice.kind, notice.instance_id) == (NoticeKind.PREEMPTION, ME)
        assert notice.deadline == Deadline.after(node.clock(), 120)
        await node.has(0, 1)
        source.acknowledge(notice)
        await node.has(0, 0)


async def test_message_of_another_instance_is_left_when_it_is_in_our_queue(
    node: QueuedNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither deleted nor shown to others sooner than any received message is."""
    caplog.set_level("INFO")
    async with hearing(node, node.source()):
        await node.send(spot_warning(OTHER), spot_warning(ME))
        notice = await node.heard()
        assert notice.instance_id == ME
        await node.has(0, 2)
    assert (node.count("foreign"), node.count("notice")) == (1, 1)
    assert "message foreign message_id=" in caplog.text


async def test_notice_is_heard_once_when_its_message_comes_twice_and_late(
    node: QueuedNode,
) -> None:
    """A duplicate waits for the work on the first, and one that comes after it is deleted."""
    said = spot_warning(ME, "event-1")
    async with hearing(node, node.source()) as source:
        await node.send(said, said)
        notice = await node.heard()
        await node.told("duplicate")
        await node.has(0, 2)
        source.acknowledge(notice)
        await node.has(0, 0)
        await node.send(said)
        await node.told("duplicate", 2)
        await node.has(0, 0)
        assert node.inbox.empty()


async def test_message_stays_hidden_when_only_another_one_is_acknowledged(
    node: QueuedNode,
) -> None:
    """In whatever order the actions on them end."""
    first, second = (spot_warning(ME, name) for name in ("event-1", "event-2"))
    async with hearing(node, node.source()) as source:
        await node.send(first, second)
        notices = [await node.heard(), await node.heard()]
        source.acknowledge(notices[1])
        await node.has(0, 1)
        source.acknowledge(notices[0])
        await node.has(0, 0)


@pytest.mark.parametrize(
    ("message", "verdict", "is_left"),
    [
        ("not AWS's", "refused", True),
        (json.dumps({"instance-id": ME, "instance-action": "terminate"}), "refused", True),
        (
            json.dumps({"detail-type": "New", "source": "aws.ec2", "detail": {}}),
            "ignored_unknown_kind",
            True,
        ),
        (STATE_RUNNING, "ignored_not_ending", False),
        (body("asg-test-notification").decode(), "ignored_test", False),
    ],
)
async def test_message_without_a_notice_leaves_one_line_when_it_is_received(
    node: QueuedNode,
    caplog: pytest.LogCaptureFixture,
    message: str,
    verdict: str,
    is_left: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """What we can't read stays for the dead-letter queue; what is nothing is deleted."""
    caplog.set_level("INFO")
    async with hearing(node, node.source()):
        await node.send(message)
        await node.told(verdict)
        await node.has(0, 1 if is_left else 0)
        assert node.inbox.empty()
    lines = [line for line in caplog.messages if line.startswith("message ")]
    assert len(lines) == 1
    assert lines[0].startswith(f"message {verdict} message_id=")
    assert " why=" in lines[0]


@pytest.mark.parametrize(
    ("instance_type", "left_s"), [("p5.48xlarge", 600), ("p6e-gb200.36xlarge", 0)]
)
async def test_end_of_a_reservation_is_heard_only_when_we_are_in_it(
    node: QueuedNode, instance_type: str, left_s: float
) -> None:
    """EC2 says whether we are, and by which rule our type is ended."""
    message = json.loads(body("capacity-block-expiration"))
    message["detail"]["end-date"] = "2026-11-30T10:45:06Z"
    async with hearing(node, node.source()):
        await node.send(json.dumps(message))
        await node.told("foreign")
        node.ec2.told = [Member(ME, instance_type)]
        await node.send(json.dumps(message))
        notice = await node.heard()
    assert (notice.kind, notice.instance_id) == (NoticeKind.CAPACITY_END, ME)
    assert notice.deadline is not None
    assert max(0, notice.deadline.boottime_s - node.clock().boottime_s) == left_s


async def test_message_is_left_undecided_when_ec2_does_not_say_who_is_in_a_reservation(
    node: QueuedNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither acted on nor deleted: it is read again, and people can see what is missing."""
    node.ec2.told = None
    async with hearing(node, node.source()):
        await node.send(body("capacity-block-expiration").decode(), spot_warning(ME))
        assert (await node.heard()).kind is NoticeKind.PREEMPTION
        await node.has(0, 2)
    assert node.count("undecided") == 1
    assert "EC2 DescribeInstances: no" in caplog.text


async def test_other_messages_are_heard_when_a_reservation_waits_for_ec2(
    node: QueuedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the same batch, and the next ones; what it is for us is heard when EC2 says so."""
    monkeypatch.setattr(limited_calls, "CALL_LIMIT_S", 60.0)
    node.ec2.told = [Member(ME, "p5.48xlarge")]
    node.ec2.may_answer.clear()
    async with hearing(node, node.source()):
        await node.send(body("capacity-block-expiration").decode(), spot_warning(ME, "event-1"))
        assert "event-1" in (await node.heard()).id
        await eventually(lambda: node.ec2.questions)
        await node.send(spot_warning(ME, "event-2"))
        assert "event-2" in (await node.heard()).id
        node.ec2.may_answer.set()
        assert (await node.heard()).kind is NoticeKind.CAPACITY_END


async def test_reservation_is_heard_when_the_queue_goes_away_while_ec2_is_asked(
    node: QueuedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that is blind has forgotten nothing."""
    monkeypatch.setattr(limited_calls, "CALL_LIMIT_S", 60.0)
    node.ec2.told = [Member(ME, "p5.48xlarge")]
    node.ec2.may_answer.clear()
    async with hearing(node, node.source()):
        await node.send(body("capacity-block-expiration").decode())
        await eventually(lambda: node.ec2.questions)
        node.queue._url = f"{node.moto.url}/123456789012/away"
        await node.send(STATE_RUNNING)  # ends the long poll that has begun
        await eventually(lambda: node.health.blind_since() is not None)
        node.ec2.may_answer.set()
        assert (await node.heard()).kind is NoticeKind.CAPACITY_END


async def test_nothing_is_received_when_it_is_unknown_who_we_are(node: QueuedNode) -> None:
    """A message taken by somebody who can't tell whose it is would only be late."""
    node.me = None
    async with hearing(node, node.source()):
        await node.send(spot_warning(ME))
        await eventually(lambda: "aws.instance_id" in node.health.keys["messages"].why)
        await node.has(1, 0)
        node.me = ME
        assert (await node.heard()).instance_id == ME
        assert node.health.blind_since() is None


async def test_source_is_only_blind_when_the_queue_is_away(
    node: QueuedNode, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so, and hears what has come meanwhile when the queue is there again."""
    async with hearing(node, node.source()):
        await node.send(spot_warning(ME, "event-1"))
        await node.heard()
        url, node.queue._url = node.url, f"{node.moto.url}/123456789012/away"
        # What ends the long poll that has begun goes where the source does not look any more.
        await node.send(STATE_RUNNING)
        await eventually(lambda: node.health.blind_since() is not None)
        assert "does not exist" in node.health.keys["messages"].why
        await node.send(spot_warning(ME, "event-2"))
        node.queue._url = url
        assert "event-2" in (await node.heard()).id
        assert node.health.blind_since() is None
    assert len([line for line in caplog.messages if "source blind" in line]) == 1


async def test_message_is_deleted_when_an_earlier_run_had_its_notice_in_force(
    node: QueuedNode,
) -> None:
    """The flag brings the notice back before the queue does; it is not heard twice."""
    said = spot_warning(ME, "event-1")
    async with hearing(node, node.source()):
        await node.send(said)
        notice = await node.heard()
    await node.send(said)
    async with hearing(node, node.source((notice,))) as source:
        await node.told("duplicate")
        source.acknowledge(notice)
        await node.has(0, 1)  # the first receipt is the dead run's own, and runs out by itself
        assert node.inbox.empty()


async def test_hook_is_known_and_gives_the_deadline_when_it_is_to_be_kept_waiting(
    node: QueuedNode,
) -> None:
    """By default there is none, because no heartbeat can be relied on."""
    node.hands = replace(node.hands, hook_wait_s=600)
    message = json.loads(body("asg-terminate"))
    message["detail"]["EC2InstanceId"] = ME
    async with hearing(node, node.source()):
        await node.send(json.dumps(message))
        notice = await node.heard()
    assert notice.deadline == Deadline.after(node.clock(), 600)
    assert node.hands.hooks[notice.id].name == message["detail"]["LifecycleHookName"]
