"""The relay on moto's SQS: what is handed over, what is deleted, and what is left."""

import asyncio
import json

import pytest

from tests.support.aws_bodies import body
from tests.support.clocks import TurnedClock, eventually
from tests.support.moto_aws import Moto, spot_warning
from tests.support.relaying import relaying
from watcher.aws.ec2 import Member
from watcher.errors import ActionRetryable
from watcher.relay import relay as module
from watcher.relay.delivery import RETRY_LIMIT_S, UNKNOWN_LIMIT_S
from watcher.relay.handlers import UnknownInstance

TAG = "kubernetes.io/cluster/blue"


def health(*instances: str) -> str:
    """Build a message of AWS Health's that affects several instances."""
    message = json.loads(body("health-reboot"))
    message["detail"]["affectedEntities"] = [{"entityValue": name} for name in instances]
    return json.dumps(message)


@pytest.mark.slow
async def test_every_notice_is_handed_over_once_when_a_thousand_come_in_a_burst(
    moto: Moto, clock: TurnedClock
) -> None:
    """Of a thousand instances none is forgotten and none is told twice, and the queue is empty."""
    instances = [f"i-{number:017x}" for number in range(1000)]
    async with relaying(moto, clock, readers=4) as relayed:
        await relayed.send(*(spot_warning(name) for name in instances))
        await eventually(lambda: len(relayed.handler.handled) == 1000)
        await relayed.has(0, 0)
        assert set(relayed.handler.handled.elements()) == set(instances)
        assert set(relayed.handler.handled.values()) == {1}


async def test_two_relays_share_a_queue_when_both_read_it(moto: Moto, clock: TurnedClock) -> None:
    """Nobody is elected, every notice is handed over, and no relay hands one over twice.

    Across the two a queue may deliver a message again: it promises at least once, no more.
    """
    instances = {f"i-{number:017x}" for number in range(100)}
    async with relaying(moto, clock) as one, relaying(moto, clock, url=one.url) as other:
        await one.send(*(spot_warning(name) for name in instances))
        await eventually(lambda: {*one.handler.handled, *other.handler.handled} == instances)
        await one.has(0, 0)
        for relay in (one, other):
            assert set(relay.handler.handled.values()) <= {1}


async def test_notice_is_handed_over_once_when_its_message_comes_twice_and_out_of_order(
    moto: Moto, clock: TurnedClock
) -> None:
    """Twins at the same time wait for each other, and one that comes later is only deleted."""
    first, second = spot_warning("i-1", "event-1"), spot_warning("i-2", "event-2")
    async with relaying(moto, clock) as relayed:
        relayed.handler.may_finish.clear()
        await relayed.send(second, first, second)
        await relayed.told("notice", 3)
        await relayed.has(0, 3)
        relayed.handler.may_finish.set()
        await relayed.has(0, 0)
        await relayed.send(first)
        await relayed.told("notice", 4)
        await relayed.has(0, 0)
        assert relayed.handler.handled == {"i-1": 1, "i-2": 1}


async def test_unknown_instance_is_tried_for_a_minute_when_it_may_be_joining(
    moto: Moto, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """One joins and is told; of the other one the queue is told at last, and people as well."""
    async with relaying(moto, clock) as relayed:
        nobody = UnknownInstance("no Node has this providerID")
        relayed.handler.fails_for = {"i-1": nobody, "i-2": nobody}
        await relayed.send(spot_warning("i-1"), spot_warning("i-2"))
        await eventually(lambda: min(relayed.handler.tried[name] for name in ("i-1", "i-2")) > 1)
        await relayed.has(0, 2)
        del relayed.handler.fails_for["i-1"]
        await relayed.has(0, 1)
        clock.turn(UNKNOWN_LIMIT_S)
        await relayed.has(0, 0)
        assert relayed.handler.handled == {"i-1": 1}
        labels = {"kind": "preemption", "verdict": "unknown_instance"}
        assert relayed.metrics.registry.get_sample_value("reprieve_notices_total", labels) == 1
    assert "no Node has this providerID" in caplog.text


async def test_message_is_left_to_the_queue_when_the_handler_fails_for_long(
    moto: Moto, clock: TurnedClock
) -> None:
    """It is neither deleted nor hidden any longer, so that another relay can try."""
    async with relaying(moto, clock) as relayed:
        relayed.handler.fails_for = {"i-1": ActionRetryable("the API server is away")}
        await relayed.send(spot_warning("i-1"))
        await eventually(lambda: relayed.handler.tried["i-1"] > 1)
        clock.turn(RETRY_LIMIT_S)
        held = "reprieve_messages_held"
        await eventually(lambda: relayed.metrics.registry.get_sample_value(held) == 0)
        assert await asyncio.to_thread(moto.counts, relayed.url) == (0, 1)


async def test_message_is_deleted_only_when_all_its_instances_are_told(
    moto: Moto, clock: TurnedClock
) -> None:
    """AWS Health names many in one message; those that were told are not told again."""
    async with relaying(moto, clock) as relayed:
        relayed.handler.fails_for = {"i-2": ActionRetryable("the API server is away")}
        await relayed.send(health("i-1", "i-2", "i-3"))
        await eventually(lambda: relayed.handler.tried["i-2"] > 1)
        await relayed.has(0, 1)
        relayed.handler.fails_for = {}
        await relayed.has(0, 0)
        assert relayed.handler.handled == {"i-1": 1, "i-2": 1, "i-3": 1}


async def test_end_of_a_reservation_is_told_to_every_instance_in_it(
    moto: Moto, clock: TurnedClock
) -> None:
    """The message names none of them; EC2 does."""
    async with relaying(moto, clock) as relayed:
        relayed.ec2.told = [Member("i-1", "p5.48xlarge"), Member("i-2", "p5.48xlarge")]
        await relayed.send(body("capacity-block-expiration").decode())
        await relayed.has(0, 0)
        await eventually(lambda: len(relayed.handler.handled) == 2)


async def test_instance_is_ours_only_by_its_tag_when_the_queue_is_shared(
    moto: Moto, clock: TurnedClock
) -> None:
    """Others' messages are left as they are, and so is one that is partly theirs."""
    async with relaying(moto, clock, tag=f"{TAG}=owned") as relayed:
        relayed.ec2.tags = {"i-1": f"{TAG}=owned", "i-2": "kubernetes.io/cluster/green=owned"}
        await relayed.send(spot_warning("i-1"), spot_warning("i-2"), health("i-1", "i-2"))
        await relayed.told("foreign")
        await eventually(lambda: relayed.handler.handled["i-1"] == 2)
        await relayed.has(0, 2)
        assert relayed.handler.tried["i-2"] == 0
        assert sorted({name for asked in relayed.ec2.questions for name in asked}) == ["i-1", "i-2"]
        asked = len(relayed.ec2.questions)
        await relayed.send(spot_warning("i-1"), spot_warning("i-2"))
        await relayed.told("foreign", 2)
        await eventually(lambda: relayed.handler.handled["i-1"] == 3)
        assert len(relayed.ec2.questions) == asked


async def test_message_is_left_undecided_when_ec2_does_not_say_whose_it_is(
    moto: Moto, clock: TurnedClock
) -> None:
    """Unknown is neither ours nor theirs."""
    async with relaying(moto, clock, tag=TAG) as relayed:
        relayed.ec2.tags = None
        await relayed.send(spot_warning("i-1"))
        await relayed.told("undecided")
        assert await asyncio.to_thread(moto.counts, relayed.url) == (0, 1)
        assert relayed.handler.tried == {}


async def test_message_without_a_notice_stays_only_when_somebody_should_see_it(
    moto: Moto, clock: TurnedClock
) -> None:
    """Poison and unknown kinds go to the dead-letter queue; the rest is deleted."""
    unknown = json.dumps({"detail-type": "New", "source": "aws.ec2", "detail": {}})
    async with relaying(moto, clock) as relayed:
        await relayed.send("poison", unknown, body("asg-test-notification").decode())
        for verdict in ("refused", "ignored_unknown_kind", "ignored_test"):
            await relayed.told(verdict)
        await relayed.has(0, 2)
        assert relayed.handler.tried == {}


async def test_relay_is_only_blind_when_the_queue_is_away(
    moto: Moto, clock: TurnedClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so once, and hears again by itself when the queue is there."""
    url = f"{moto.url}/123456789012/late"
    async with relaying(moto, clock, url=url) as relayed:
        fetches = ("reprieve_source_fetches_total", {"source": "aws_sqs", "outcome": "no_queue"})
        await eventually(lambda: (relayed.metrics.registry.get_sample_value(*fetches) or 0) > 1)
        assert relayed.health.blind_since() is not None
        await asyncio.to_thread(moto.queue, "late")
        await relayed.send(spot_warning("i-1"))
        await eventually(lambda: relayed.handler.handled["i-1"])
        assert relayed.health.blind_since() is None
    assert len([line for line in caplog.messages if "relay blind" in line]) == 1


async def test_relay_hands_over_all_that_it_receives_when_it_is_told_to_stop(
    moto: Moto, clock: TurnedClock
) -> None:
    """Nobody else could see what a receive brings that was under way."""
    async with relaying(moto, clock) as relayed:
        relayed.handler.may_finish.clear()
        await relayed.send(spot_warning("i-1"))
        await eventually(lambda: relayed.handler.tried["i-1"])
        relayed.stop.set()
        await relayed.send(spot_warning("i-2"))
        relayed.handler.may_finish.set()
    seen, hidden = await asyncio.to_thread(moto.counts, relayed.url)
    assert (relayed.handler.handled["i-1"], hidden) == (1, 0)
    assert relayed.handler.handled["i-2"] + seen == 1


async def test_full_relay_receives_no_more_when_it_is_told_to_stop(
    moto: Moto, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it makes room for is another relay's: it ends what it holds, and takes nothing new."""
    monkeypatch.setattr(module, "HELD_LIMIT", 1)
    async with relaying(moto, clock) as relayed:
        relayed.handler.may_finish.clear()
        await relayed.send(spot_warning("i-1"))
        await eventually(lambda: relayed.handler.tried["i-1"] == 1)
        await relayed.send(spot_warning("i-2"))
        await relayed.has(1, 1)
        relayed.stop.set()
        relayed.handler.may_finish.set()
    assert relayed.handler.handled == {"i-1": 1}
    await relayed.has(1, 0)
