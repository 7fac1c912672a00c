"""Events about the Node, for people."""

from dataclasses import replace

from tests.support.own_node import OwnNode
from watcher.kube.events import NodeEvent, tell

EVENT = NodeEvent(
    key="spot-1",
    reason="ReclaimPending",
    message="the cloud takes this node",
    is_warning=True,
    at="2026-11-30T10:05:06Z",
)


async def test_event_is_about_our_node_and_there_once(own: OwnNode) -> None:
    """However often it is told; another key is another Event."""
    node = await own.node.get()
    for _ in range(2):
        await tell(own.client, node, EVENT)
    (event,) = own.cluster.events()
    assert (event["reason"], event["type"], event["count"]) == ("ReclaimPending", "Warning", 1)
    assert event["involvedObject"]["uid"] == node.uid
    await tell(own.client, node, replace(EVENT, key="spot-2", is_warning=False))
    assert sorted(one["type"] for one in own.cluster.events()) == ["Normal", "Warning"]
