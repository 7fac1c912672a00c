"""The relay while EC2 hangs: nothing waits for it but the messages that only it can explain."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from lab.moto import REGION

from tests.support.aws_bodies import body
from tests.support.clocks import TurnedClock, eventually
from tests.support.hanging_server import HangingServer, hanging_server
from tests.support.moto_aws import Moto, spot_warning
from tests.support.relaying import relaying
from watcher.aws import boto, limited_calls
from watcher.aws.asking import QUIET_S
from watcher.aws.ec2 import Ec2

TAG = "kubernetes.io/cluster/blue"
RESERVATION = body("capacity-block-expiration").decode()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no question end by itself while a test looks at what happens beside it."""
    monkeypatch.setattr(limited_calls, "CALL_LIMIT_S", 60.0)
    monkeypatch.setattr(boto, "ANSWER_LIMIT_S", 60.0)


@pytest.fixture
async def hanging(monkeypatch: pytest.MonkeyPatch, moto: Moto) -> AsyncIterator[HangingServer]:
    """EC2 that takes connections and never answers; SQS is moto's."""
    del moto  # its environment first
    async with hanging_server() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", server.url)
        yield server


async def test_spot_notices_are_told_when_reservations_of_the_same_batch_wait_for_ec2(
    moto: Moto, clock: TurnedClock, hanging: HangingServer
) -> None:
    """The one reservation is still being asked about when everything else is done."""
    async with relaying(moto, clock, ec2=Ec2(REGION)) as relayed:
        await relayed.send(RESERVATION, *(spot_warning(f"i-{n}") for n in range(9)))
        await relayed.send(spot_warning("i-next"))
        await asyncio.wait_for(hanging.first.wait(), 20)
        await eventually(lambda: len(relayed.handler.handled) == 10)
        await relayed.has(0, 1)
        assert relayed.count("undecided") == 0
        hanging.release()
        await relayed.told("undecided")


async def test_message_is_in_our_hands_while_ec2_is_asked_about_it(
    moto: Moto, clock: TurnedClock, hanging: HangingServer
) -> None:
    """So it is kept hidden, and given back to the queue when EC2 does not say whose it is."""
    async with relaying(moto, clock, ec2=Ec2(REGION)) as relayed:
        held = "reprieve_messages_held"
        await relayed.send(RESERVATION)
        await asyncio.wait_for(hanging.first.wait(), 20)
        assert relayed.metrics.registry.get_sample_value(held) == 1
        hanging.release()
        await relayed.told("undecided")
        assert relayed.metrics.registry.get_sample_value(held) == 0
        assert await asyncio.to_thread(moto.counts, relayed.url) == (0, 1)


async def test_ec2_is_asked_once_by_a_burst_when_it_does_not_answer(
    moto: Moto, clock: TurnedClock, hanging: HangingServer
) -> None:
    """All that wait for their turn fail with the first one, and later ones for some seconds."""
    async with relaying(moto, clock, ec2=Ec2(REGION)) as relayed:
        await relayed.send(*[RESERVATION] * 10)
        await asyncio.wait_for(hanging.first.wait(), 20)
        hanging.release()
        await relayed.told("undecided", 10)
        await relayed.send(RESERVATION)
        await relayed.told("undecided", 11)
        assert hanging.connections == 1
        clock.turn(QUIET_S)
        await relayed.send(RESERVATION)
        await relayed.told("undecided", 12)
        assert hanging.connections == 2


async def test_known_instances_are_told_when_ec2_hangs_on_the_tag_of_a_new_one(
    moto: Moto, clock: TurnedClock
) -> None:
    """On a shared queue; what was learnt while EC2 answered still holds."""
    async with relaying(moto, clock, tag=TAG) as relayed:
        relayed.ec2.tags = {"i-1": TAG}
        await relayed.send(spot_warning("i-1"))
        await eventually(lambda: relayed.handler.handled["i-1"] == 1)
        relayed.ec2.may_answer.clear()
        await relayed.send(spot_warning("i-new"), spot_warning("i-1"))
        await eventually(lambda: relayed.handler.handled["i-1"] == 2)
        await relayed.has(0, 1)
        relayed.ec2.may_answer.set()
        await relayed.told("foreign")


async def test_tags_of_a_burst_are_asked_for_together(moto: Moto, clock: TurnedClock) -> None:
    """One question for the first message, one for all that have come meanwhile."""
    names = [f"i-{number:03}" for number in range(40)]
    async with relaying(moto, clock, tag=TAG) as relayed:
        relayed.ec2.tags = dict.fromkeys(names, TAG)
        relayed.ec2.may_answer.clear()
        await relayed.send(*(spot_warning(name) for name in names))
        await relayed.has(0, 40)
        held = "reprieve_messages_held"
        await eventually(lambda: relayed.metrics.registry.get_sample_value(held) == 40)
        relayed.ec2.may_answer.set()
        await eventually(lambda: len(relayed.handler.handled) == 40)
        assert [len(asked) for asked in relayed.ec2.questions] == [1, 39]
