"""Lists and watches as a real kube-apiserver 1.36 was measured to serve them."""

import aiohttp
import pytest

from tests.fakes.kube.watch import Order
from tests.support.clocks import eventually
from tests.support.kube import NODES, PODS, Kube

OWN = {"fieldSelector": "metadata.name=node-a"}


async def test_list_is_narrowed_by_the_field_selectors_that_we_need(kube: Kube) -> None:
    """Pods of one node, one Node by name; another field can't be selected by."""
    for node in ("node-a", "node-b"):
        kube.cluster.add_node(node)
        kube.cluster.add_pod(f"on-{node}", node)
    pods = await kube.ask("GET", "/api/v1/pods", fieldSelector="spec.nodeName=node-a")
    assert [one["metadata"]["name"] for one in pods.body["items"]] == ["on-node-a"]
    nodes = await kube.ask("GET", NODES, **OWN)
    assert [one["metadata"]["name"] for one in nodes.body["items"]] == ["node-a"]
    assert (await kube.ask("GET", NODES, fieldSelector="spec.providerID=x")).status == 400


async def test_list_comes_in_pages_when_a_limit_is_asked_for(kube: Kube) -> None:
    """The token leads on to the rest."""
    for name in ("a", "b", "c"):
        kube.cluster.add_node(name)
    first = await kube.ask("GET", NODES, limit="2")
    token = first.body["metadata"]["continue"]
    rest = await kube.ask("GET", NODES, **{"limit": "2", "continue": token})
    names = [one["metadata"]["name"] for page in (first, rest) for one in page.body["items"]]
    assert names == ["a", "b", "c"]
    assert "continue" not in rest.body["metadata"]


async def test_watch_tells_every_change_after_a_version_when_it_is_given(kube: Kube) -> None:
    """Of the selection alone, each with its version."""
    kube.cluster.add_node("node-a")
    listed = await kube.ask("GET", NODES, **OWN)
    version = listed.body["metadata"]["resourceVersion"]
    kube.cluster.edit_node("node-a", unschedulable=True)
    async with kube.watching(NODES, resourceVersion=version, **OWN) as lines:
        kind, node = await lines.next()
        assert (kind, node["spec"]) == ("MODIFIED", {"unschedulable": True})
        kube.cluster.add_node("node-b")
        kube.cluster.edit_node("node-a", unschedulable=None)
        kind, node = await lines.next()
        assert (kind, node["metadata"]["name"], node["spec"]) == ("MODIFIED", "node-a", {})


async def test_watch_begins_with_what_is_there_when_no_version_is_given(kube: Kube) -> None:
    """As ADDED."""
    kube.cluster.add_node("node-a")
    async with kube.watching(NODES) as lines:
        assert (await lines.next())[0] == "ADDED"


async def test_pod_comes_and_goes_when_the_selection_is_by_its_node(kube: Kube) -> None:
    """A pod is in the selection only once it is bound."""
    kube.cluster.add_pod("web", "")
    version = str(kube.server.store.version)
    query = {"fieldSelector": "spec.nodeName=node-a", "resourceVersion": version}
    async with kube.watching("/api/v1/pods", **query) as lines:
        bound = {"spec": {"nodeName": "node-a"}}
        assert (await kube.patch(f"{PODS}/web", bound)).status == 200
        assert (await lines.next())[0] == "ADDED"
        kube.cluster.lose_pod("web")
        assert (await lines.next())[0] == "DELETED"


async def test_watch_is_told_410_when_its_version_is_forgotten(kube: Kube) -> None:
    """HTTP 200, and an ERROR in the stream: list again, then watch."""
    kube.cluster.add_node("node-a")
    kube.cluster.expire()
    async with kube.watching(NODES, resourceVersion="2") as lines:
        kind, status = await lines.next()
        assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        assert status["message"] == f"too old resource version: 2 ({kube.server.store.oldest})"
        assert await lines.is_over()
    version = (await kube.ask("GET", NODES)).body["metadata"]["resourceVersion"]
    async with kube.watching(NODES, resourceVersion=version) as lines:
        kube.cluster.add_node("node-b")
        assert (await lines.next())[0] == "ADDED"


async def test_watch_sends_a_bookmark_when_it_was_asked_for(kube: Kube) -> None:
    """The version of all that has happened, also to others, and nothing of the object."""
    kube.cluster.add_node("node-a")
    version = str(kube.server.store.version)
    query = {"resourceVersion": version, "allowWatchBookmarks": "true", **OWN}
    async with kube.watching(NODES, **query) as lines:
        kube.cluster.add_node("node-b")
        kube.server.order(Order.BOOKMARK)
        kind, node = await lines.next()
        assert (kind, node["kind"]) == ("BOOKMARK", "Node")
        assert node["metadata"]["resourceVersion"] == str(kube.server.store.version)


async def test_watch_ends_in_order_when_its_time_is_over(kube: Kube) -> None:
    """With a bookmark at last, so that the next one goes on there."""
    query = {"resourceVersion": "1", "timeoutSeconds": "0.01", "allowWatchBookmarks": "true"}
    async with kube.watching(NODES, **query) as lines:
        assert (await lines.next())[0] == "BOOKMARK"
        assert await lines.is_over()


async def test_watch_breaks_off_within_a_line_when_the_test_says_so(kube: Kube) -> None:
    """Half a line is no news."""
    async with kube.watching(NODES, resourceVersion="1") as lines:
        await eventually(lambda: kube.server.watches)
        kube.server.order(Order.HALF)
        with pytest.raises(aiohttp.ClientPayloadError):
            await lines.next()
