"""Which Node is which machine: by the cloud's ids, and as Nodes come, change and go."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.kube.kinds import NODE
from tests.fakes.kube.watch import Order
from tests.support.clocks import TurnedClock
from tests.support.kube_nodes import documented
from tests.support.relayed_cluster import relayed_cluster
from tests.support.told_by_relay import told
from watcher.actions.node_state import Done, NodeState, compose
from watcher.kube import follow
from watcher.kube.keys import STATE
from watcher.kube.objects import node_of
from watcher.relay.node_cache import GKE_INSTANCE, machines_for, machines_of
from watcher.sources.reading import ForInstance

PLAIN = node_of(documented("nothing"))
GCE = "gce://my-proj/us-central1-a/gpu-node-7"


@pytest.mark.parametrize(
    ("provider_id", "annotation", "words"),
    [
        ("aws:///eu-west-1a/i-0123", "", {"i-0123"}),
        ("aws:///eu-west-1a/i-0123", "77", {"i-0123", "77"}),
        (GCE, "", {GCE}),
        (GCE, "1234567890123456789", {GCE, "1234567890123456789"}),
        ("aws:///eu-west-1a/9c2/fargate-ip-10-0-0-1", "", set()),
        ("kind://docker/kind/worker", "1234567890123456789", set()),
        ("", "", set()),
    ],
)
def test_node_is_the_machine_that_its_provider_id_names(
    provider_id: str, annotation: str, words: set[str]
) -> None:
    """A GKE Node has the VM's number as well; without a cloud's id an annotation proves nothing."""
    annotations = {GKE_INSTANCE: annotation} if annotation else {}
    node = replace(PLAIN, provider_id=provider_id, annotations=annotations)
    assert machines_of(node) == words


def _gcp(resource: str) -> ForInstance:
    return replace(told(detail={"resourceName": resource}), instance_id="1234567890123456789")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (told(), {"i-0123"}),
        (
            _gcp("projects/my-proj/zones/us-central1-a/instances/gpu-node-7"),
            {GCE, "1234567890123456789"},
        ),
        (
            _gcp("https://www.googleapis.com/compute/v1/projects/my-proj/zones/z/instances/n"),
            {"gce://my-proj/z/n", "1234567890123456789"},
        ),
        (_gcp("projects/my-proj"), {"1234567890123456789"}),
    ],
)
def test_notice_is_for_the_machine_that_it_names(said: ForInstance, words: set[str]) -> None:
    """By its id, and on Google Cloud by project, zone and name too."""
    assert machines_for(said) == words


async def test_cache_knows_the_nodes_when_they_come_change_and_go(
    tmp_path: Path, clock: TurnedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a list of several parts, in the watch, and in another list after what was forgotten."""
    monkeypatch.setattr(follow, "PAGE", 2)
    monkeypatch.setattr(follow, "LEAST_WATCH_S", 0.0)
    async with relayed_cluster(tmp_path, clock) as first:
        server = first.server
        for number in range(5):
            server.cluster.add_node(f"node-{number}", provider_id=f"aws:///z/i-000{number}")
        async with relayed_cluster(tmp_path, clock, server) as relayed:
            nodes = relayed.nodes
            at = [replace(told(), instance_id=f"i-000{number}") for number in range(6)]
            await relayed.sees()
            assert [nodes.names_of(one) for one in at[:2]] == [("node-0",), ("node-1",)]
            server.store.remove(NODE, "", "node-0")
            server.cluster.edit_node("node-1", providerID="aws:///z/i-0005")
            await relayed.sees()
            assert [nodes.names_of(one) for one in at] == [
                (),
                (),
                ("node-2",),
                ("node-3",),
                ("node-4",),
                ("node-1",),
            ]
            assert nodes.has_lost(at[0])
            server.order(Order.EXPIRE)
            server.store.remove(NODE, "", "node-2")
            server.cluster.expire()
            await relayed.sees()
            assert nodes.names_of(at[2]) == ()
            assert nodes.has_lost(at[2])
            assert not nodes.has_lost(at[3])


async def test_cache_goes_on_when_a_node_makes_no_sense(tmp_path: Path, clock: TurnedClock) -> None:
    """One odd object hides no other, and a known machine is not forgotten for it."""
    async with relayed_cluster(tmp_path, clock) as relayed:
        relayed.cluster.add_node("node-a", provider_id="aws:///z/i-0123")
        await relayed.sees()
        node = relayed.cluster.node("node-a")
        node["spec"]["taints"] = 3
        relayed.server.store.replace(NODE, node)
        relayed.cluster.add_node("node-b", provider_id="aws:///z/i-0124")
        await relayed.sees()
        assert relayed.nodes.names_of(told()) == ("node-a",)
        assert relayed.nodes.names_of(replace(told(), instance_id="i-0124")) == ("node-b",)


async def test_machine_is_drained_when_the_daemon_on_its_node_says_so_in_this_boot(
    tmp_path: Path, clock: TurnedClock
) -> None:
    """Not by what was noted before a reboot, and no more when it is taken back or the Node gone."""
    noted = {"id": "spot", "kind": "preemption", "deadline": None}
    async with relayed_cluster(tmp_path, clock) as relayed:

        async def is_drained(boot_id: str, *, says: bool) -> bool:
            state = NodeState(boot_id=boot_id, notice=noted, done=Done(), is_drained=says)
            relayed.cluster.mark_node("node-a", annotations={STATE: compose(state)})
            await relayed.sees()
            return relayed.nodes.is_drained("i-0123")

        relayed.cluster.add_node("node-a", provider_id="aws:///z/i-0123", boot_id="boot-1")
        assert not relayed.nodes.is_drained("i-0123")
        assert not await is_drained("boot-0", says=True)
        assert not await is_drained("boot-1", says=False)
        assert await is_drained("boot-1", says=True)
        assert not relayed.nodes.is_drained("i-0124")
        relayed.server.store.remove(NODE, "", "node-a")
        await relayed.sees()
        assert not relayed.nodes.is_drained("i-0123")
