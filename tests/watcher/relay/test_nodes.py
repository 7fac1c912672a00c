"""The relay's word on Nodes: whose it is, that it is stored, and what becomes of the rest."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN, Rule, Subject
from tests.fakes.kube.faults import Garbage, Trouble, What
from tests.fakes.kube.kinds import NODE
from tests.fakes.kube.refusals import busy, conflict, forbidden, internal, timed_out
from tests.fakes.kube.watch import Order
from tests.support.clocks import TurnedClock, eventually
from tests.support.relayed_cluster import Relayed, relayed_cluster
from tests.support.told_by_relay import told
from watcher.config import Config, RelayConfig
from watcher.errors import ActionRetryable, ConfigError
from watcher.kube.keys import NOTICE
from watcher.kube.objects import node_of
from watcher.relay.command import run
from watcher.relay.handlers import UnknownInstance
from watcher.sources.relayed_notice import parse

MINE = "aws:///eu-west-1a/i-0123"
SPOT = told()


@pytest.fixture
async def relayed(tmp_path: Path, clock: TurnedClock) -> AsyncIterator[Relayed]:
    """A cluster with our instance as a Node, which the cache knows."""
    async with relayed_cluster(tmp_path, clock) as relayed:
        relayed.cluster.add_node("node-a", provider_id=MINE, boot_id="boot-1")
        await relayed.sees()
        yield relayed


async def test_notice_is_stored_on_the_node_that_is_the_instance(relayed: Relayed) -> None:
    """As the node's own source reads it, and on no other Node."""
    relayed.cluster.add_node("node-b", provider_id="aws:///eu-west-1a/i-0124")
    await relayed.sees()
    await relayed.handler.handle(SPOT)
    node = node_of(relayed.cluster.node("node-a"))
    (one,) = parse(node.annotations[NOTICE], node, relayed.clock()).notices
    assert (one.told.notice.id, one.boot_id) == ("relayed-aws-spot-a", "boot-1")
    assert relayed.told("node-b") == []


async def test_notice_is_written_once_when_two_relays_have_it(
    relayed: Relayed, tmp_path: Path
) -> None:
    """Both read the queue, and neither loses what the other writes at the same time."""
    async with relayed_cluster(tmp_path, relayed.clock, relayed.server) as other:
        await other.sees()
        several = [told(str(n)) for n in range(8)]
        await asyncio.gather(
            *(one.handler.handle(each) for each in several for one in (relayed, other))
        )
        assert sorted(relayed.told("node-a")) == [f"aws-spot-{n}" for n in range(8)]
        assert relayed.patches() == 8


async def test_other_annotations_and_taints_stay_when_a_notice_is_written(
    relayed: Relayed,
) -> None:
    """One key is the relay's, and nothing else."""
    relayed.cluster.mark_node("node-a", annotations={"theirs": "x"})
    relayed.cluster.edit_node("node-a", taints=[{"key": "k", "effect": "NoSchedule"}])
    before = relayed.cluster.node("node-a")
    await relayed.handler.handle(SPOT)
    after = relayed.cluster.node("node-a")
    assert after["metadata"]["annotations"].pop(NOTICE)
    for node in (before, after):
        node["metadata"].pop("resourceVersion")
    assert after == before


async def test_instance_is_unknown_when_no_node_is_it_and_known_when_it_joins(
    relayed: Relayed,
) -> None:
    """It may be joining: the queue's message is tried for a minute."""
    late = replace(SPOT, instance_id="i-0999")
    with pytest.raises(UnknownInstance, match="i-0999"):
        await relayed.handler.handle(late)
    relayed.cluster.add_node("node-z", provider_id="aws:///eu-west-1a/i-0999")
    await relayed.sees()
    await relayed.handler.handle(late)
    assert relayed.told("node-z") == ["aws-spot-a"]


async def test_notice_is_done_with_when_its_node_has_vanished(relayed: Relayed) -> None:
    """Also where it vanishes between two looks; ten minutes later the instance is unknown again."""
    relayed.server.faults.add(Trouble.HANG, verb="watch")
    relayed.server.order(Order.END)
    relayed.server.store.remove(NODE, "", "node-a")
    await relayed.handler.handle(SPOT)
    relayed.server.faults.lift()
    await relayed.sees()
    await relayed.handler.handle(SPOT)
    relayed.clock.turn(601)
    with pytest.raises(UnknownInstance):
        await relayed.handler.handle(SPOT)


async def test_nothing_is_written_when_the_name_is_another_machines_by_now(
    relayed: Relayed,
) -> None:
    """The cache may lag behind; the Node itself decides."""
    relayed.server.faults.add(Trouble.HANG, verb="watch")
    relayed.server.order(Order.END)
    relayed.cluster.edit_node("node-a", providerID="aws:///eu-west-1a/i-0777")
    with pytest.raises(UnknownInstance, match="by now"):
        await relayed.handler.handle(SPOT)
    assert relayed.told("node-a") == []


@pytest.mark.parametrize(
    "fault",
    [
        *(forbidden(), internal("etcd"), timed_out(), busy()),
        *(Trouble.HANG, Trouble.RESET, Trouble.LOST),
        *(Garbage(b"<html>"), Garbage(b"{}"), Garbage(b"[" * 100_000)),
    ],
)
async def test_notice_may_be_tried_again_when_a_write_fails(relayed: Relayed, fault: What) -> None:
    """Nothing is acknowledged before it is stored; one that was stored all the same stays one."""
    relayed.server.faults.add(fault, verb="patch", times=1)
    with pytest.raises(ActionRetryable):
        await relayed.handler.handle(SPOT)
    await relayed.handler.handle(SPOT)
    assert relayed.told("node-a") == ["aws-spot-a"]


async def test_notice_is_stored_when_the_token_was_rotated(
    relayed: Relayed, tmp_path: Path
) -> None:
    """With the new one as soon as it is in the file."""
    relayed.server.access.rotate(ADMIN, "tomorrow")
    with pytest.raises(ActionRetryable, match="401"):
        await relayed.handler.handle(SPOT)
    (tmp_path / "token").write_text("tomorrow")
    await relayed.handler.handle(SPOT)
    assert relayed.told("node-a") == ["aws-spot-a"]


async def test_notice_is_stored_when_the_write_meets_another(relayed: Relayed) -> None:
    """A conflict is no failure."""
    relayed.server.faults.add(conflict(NODE, "node-a"), verb="patch", times=2)
    await relayed.handler.handle(SPOT)
    assert relayed.told("node-a") == ["aws-spot-a"]


async def test_instance_is_not_called_unknown_while_the_nodes_are(relayed: Relayed) -> None:
    """With the API server away nobody knows who has joined; what is known is tried all the same."""
    await relayed.server.away()
    await relayed.is_blind()
    for one in (SPOT, replace(SPOT, instance_id="i-0999")):
        with pytest.raises(ActionRetryable):
            await relayed.handler.handle(one)
    await relayed.server.back()
    await relayed.sees()
    await relayed.handler.handle(SPOT)


async def test_annotation_of_a_newer_relay_is_left_to_it(relayed: Relayed) -> None:
    """Half-way through an update both kinds run."""
    relayed.cluster.mark_node("node-a", annotations={NOTICE: '{"schema": 2}'})
    with pytest.raises(ActionRetryable, match="newer"):
        await relayed.handler.handle(SPOT)


async def test_relay_needs_no_rights_but_those_that_the_docs_name(relayed: Relayed) -> None:
    """List and watch for the cache, get and patch for the word."""
    verbs = {"list", "watch", "get", "patch"}
    relayed.server.access.subjects[ADMIN] = Subject("relay", (Rule(verbs, ["nodes"]),))
    relayed.cluster.expire()
    relayed.server.order(Order.END)
    await relayed.sees()
    await relayed.handler.handle(SPOT)
    await eventually(lambda: relayed.server.watches)  # a list may have shown what we waited for
    relayed.server.order(Order.END)  # a watch counts when it is over
    rights = {(verb, "", "nodes") for verb in verbs}
    await eventually(lambda: relayed.server.access.used("relay") == rights)
    relayed.server.access.subjects[ADMIN] = Subject("relay", (Rule(["get"], ["nodes"]),))
    with pytest.raises(ActionRetryable, match="needs get and patch"):
        await relayed.handler.handle(told("b"))


def test_relay_is_refused_when_there_is_no_api_server(tmp_path: Path) -> None:
    """Before anything is read from the queue."""
    queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/fleet"
    with pytest.raises(ConfigError, match="REPRIEVE_KUBERNETES_URL"):
        run(Config(relay=RelayConfig(queue_url=queue, handler="kubernetes")))
    assert list(tmp_path.iterdir()) == []
