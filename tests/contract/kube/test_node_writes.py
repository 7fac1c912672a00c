"""Writes to a Node, to its status and to Events, as a real kube-apiserver 1.36 was measured."""

import pytest

from tests.fakes.kube.patches import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.support.kube import NODES, Kube

NODE = f"{NODES}/node-a"
OURS = {"key": "reprieve.dev/reclaim", "value": "preemption", "effect": "NoSchedule"}
THEIRS = {"key": "team/gpu", "value": "a100", "effect": "NoSchedule"}


def _taints(kube: Kube) -> list[str]:
    return [one["key"] for one in kube.cluster.node("node-a")["spec"].get("taints", [])]


async def test_put_conflicts_when_the_resource_version_is_stale(kube: Kube) -> None:
    """409: the object has been modified."""
    stale = kube.cluster.add_node("node-a")
    kube.cluster.edit_node("node-a", unschedulable=True)
    reply = await kube.ask("PUT", NODE, stale)
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")
    assert "the object has been modified" in reply.body["message"]


async def test_merge_patch_conflicts_only_when_it_says_a_stale_version(kube: Kube) -> None:
    """Without one it is applied to whatever is there."""
    stale = kube.cluster.add_node("node-a")["metadata"]["resourceVersion"]
    kube.cluster.edit_node("node-a", unschedulable=True)
    patch = {"metadata": {"resourceVersion": stale, "labels": {"a": "b"}}}
    assert (await kube.patch(NODE, patch)).status == 409
    del patch["metadata"]["resourceVersion"]
    assert (await kube.patch(NODE, patch)).status == 200
    assert kube.cluster.node("node-a")["spec"]["unschedulable"] is True


@pytest.mark.parametrize("media", [STRATEGIC, MERGE, APPLY])
async def test_taints_are_replaced_as_a_list_when_they_are_patched(kube: Kube, media: str) -> None:
    """Another controller's taint is lost: the list has to be read first."""
    kube.cluster.add_node("node-a", taints=[THEIRS])
    query = {"fieldManager": "test", "force": "true"} if media == APPLY else {}
    reply = await kube.patch(NODE, {"spec": {"taints": [OURS]}}, media=media, **query)
    assert reply.status == 200
    assert _taints(kube) == [OURS["key"]]


async def test_json_patch_adds_a_taint_only_where_there_is_a_list(kube: Kube) -> None:
    """With no taints there is no list to add to."""
    kube.cluster.add_node("node-a")
    add = [{"op": "add", "path": "/spec/taints/-", "value": OURS}]
    assert (await kube.patch(NODE, add, media=JSON_PATCH)).status == 422
    kube.cluster.edit_node("node-a", taints=[THEIRS])
    assert (await kube.patch(NODE, add, media=JSON_PATCH)).status == 200
    assert _taints(kube) == [THEIRS["key"], OURS["key"]]


@pytest.mark.parametrize(
    "taints",
    [[OURS, OURS | {"value": "other"}], [OURS | {"value": "two words"}], [OURS | {"effect": "No"}]],
    ids=["twice", "space", "effect"],
)
async def test_taints_are_refused_when_they_make_no_sense(
    kube: Kube, taints: list[dict[str, str]]
) -> None:
    """(key, effect) is there once, and a value is a word."""
    kube.cluster.add_node("node-a")
    reply = await kube.patch(NODE, {"spec": {"taints": taints}})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert _taints(kube) == []


async def test_conditions_are_ignored_when_they_do_not_come_through_status(kube: Kube) -> None:
    """200 and nothing done; and the same for all else through status."""
    before = kube.cluster.add_node("node-a")
    mark = {"type": "ReclaimPending", "status": "True"}
    reply = await kube.patch(NODE, {"status": {"conditions": [mark]}}, media=STRATEGIC)
    assert reply.status == 200
    other = {"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}}
    assert (await kube.patch(f"{NODE}/status", other)).status == 200
    assert kube.cluster.node("node-a") == before
    reply = await kube.patch(f"{NODE}/status", {"status": {"conditions": [mark]}}, media=STRATEGIC)
    assert reply.status == 200
    types = [one["type"] for one in kube.cluster.node("node-a")["status"]["conditions"]]
    assert types == ["Ready", "ReclaimPending"]


async def test_unknown_field_is_refused_only_under_strict_validation(kube: Kube) -> None:
    """Otherwise it is left out, silently."""
    kube.cluster.add_node("node-a")
    patch = {"spec": {"unschedulabel": True}}
    reply = await kube.patch(NODE, patch, fieldValidation="Strict")
    assert (reply.status, 'unknown field "spec.unschedulabel"' in reply.body["message"]) == (
        400,
        True,
    )
    assert (await kube.patch(NODE, patch)).status == 200
    assert "unschedulabel" not in kube.cluster.node("node-a")["spec"]


@pytest.mark.parametrize(("namespace", "status"), [("default", 201), ("kube-system", 422)])
async def test_event_about_a_node_is_taken_only_in_default(
    kube: Kube, namespace: str, status: int
) -> None:
    """A Node has no namespace, and its Events one."""
    event = {
        "metadata": {"generateName": "node-a.", "namespace": namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "node-a"},
        "reason": "Reclaim",
        "message": "the cloud takes the node",
        "type": "Warning",
    }
    reply = await kube.ask("POST", f"/api/v1/namespaces/{namespace}/events", event)
    assert reply.status == status


async def test_lease_is_lost_when_another_has_renewed_it(kube: Kube) -> None:
    """A leader's lock: an update says which version it has seen."""
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    made = await kube.ask(
        "POST", path, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}
    )
    lease = made.body
    lease["spec"]["holderIdentity"] = "b"
    assert (await kube.ask("PUT", f"{path}/l", lease)).status == 200
    assert (await kube.ask("PUT", f"{path}/l", lease)).status == 409
    del lease["metadata"]["resourceVersion"]
    assert (await kube.ask("PUT", f"{path}/l", lease)).status == 422


async def test_write_makes_no_new_version_when_it_changes_nothing(kube: Kube) -> None:
    """As in etcd: no watch is told of it."""
    kube.cluster.add_node("node-a", unschedulable=True)
    version = kube.server.store.version
    assert (await kube.patch(NODE, {"spec": {"unschedulable": True}})).status == 200
    assert kube.server.store.version == version
