"""Who may change which Node, by the admission policies' own expressions."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.kube.access import ADMIN, Subject
from tests.support.admission_policies import policies_of
from tests.support.kube import NODES, Kube, running_kube
from tests.support.kustomized import BASE, DAEMONSET, Manifest, composed, named, rendered
from watcher.kube.keys import NOTICE, STATE

ACCOUNTS = "system:serviceaccount:reprieve-system:"

LABEL = {"metadata": {"labels": {"a": "b"}}}
STATUS = {"status": {"phase": "x"}}
OURS = {"metadata": {"annotations": {STATE: "{}"}}}
WRITTEN = {"metadata": {"annotations": {NOTICE: "{}"}}}
OTHER = {"metadata": {"annotations": {NOTICE: '{"notices": []}'}}}
HYPERPOD = {
    "metadata": {
        "labels": {"sagemaker.amazonaws.com/node-health-status": "UnschedulablePendingReplacement"}
    }
}
GKE = {"metadata": {"labels": {"cloud.google.com/fault-behavior": "SDC"}}}
REMOVED = {"metadata": {"annotations": {NOTICE: None}}}

SUBJECTS = {
    "watcher": Subject(f"{ACCOUNTS}reprieve-watcher", node="node-a"),
    "unbound": Subject(f"{ACCOUNTS}reprieve-watcher"),
    "relay": Subject(f"{ACCOUNTS}reprieve-relay", node="node-b"),
    "kubelet": Subject("system:node:node-a"),
    ADMIN: Subject("admin"),
}
"""By token."""


def _objects() -> list[Manifest]:
    return rendered(DAEMONSET / "base")


@pytest.fixture
async def kube() -> AsyncIterator[Kube]:
    """Two Nodes, and the policies that are shipped."""
    async with running_kube() as kube:
        kube.server.access.subjects |= SUBJECTS
        kube.server.api.policies += policies_of(_objects())
        for name in ("node-a", "node-b"):
            kube.cluster.add_node(name)
        yield kube


@pytest.mark.parametrize(
    ("token", "path", "patch", "status"),
    [
        ("watcher", "node-a", LABEL, 200),
        ("watcher", "node-a", OURS, 200),
        ("watcher", "node-a/status", STATUS, 200),
        ("watcher", "node-b", LABEL, 422),
        ("watcher", "node-b/status", STATUS, 422),
        ("watcher", "node-a", WRITTEN, 422),
        ("unbound", "node-a", LABEL, 422),
        ("relay", "node-a", WRITTEN, 200),
        ("relay", "node-b", WRITTEN, 200),
        ("kubelet", "node-a", LABEL, 200),
        ("kubelet", "node-a/status", STATUS, 200),
        ("kubelet", "node-a", WRITTEN, 422),
        (ADMIN, "node-b", LABEL, 200),
        (ADMIN, "node-b", WRITTEN, 422),
    ],
)
async def test_write_is_judged_by_who_writes_what_where(
    kube: Kube, token: str, path: str, patch: object, status: int
) -> None:
    """Each daemon its own Node, and nobody but the relay the relay's annotation."""
    kube.token = token
    assert (await kube.patch(f"{NODES}/{path}", patch)).status == status


@pytest.mark.parametrize(
    ("token", "patch", "status"),
    [
        ("watcher", LABEL, 200),
        ("watcher", REMOVED, 422),
        ("watcher", OTHER, 422),
        ("relay", OTHER, 200),
        ("relay", REMOVED, 200),
        ("kubelet", LABEL, 200),
        (ADMIN, OTHER, 422),
        (ADMIN, REMOVED, 200),
    ],
)
async def test_notice_of_the_relay_is_its_own_when_it_is_written(
    kube: Kube, token: str, patch: object, status: int
) -> None:
    """All else on the Node may be changed beside it, and people may take it away."""
    kube.token = "relay"  # noqa: S105 - no secret
    assert (await kube.patch(f"{NODES}/node-a", WRITTEN)).status == 200
    kube.token = token
    assert (await kube.patch(f"{NODES}/node-a", patch)).status == status


@pytest.mark.parametrize("patch", [HYPERPOD, GKE])
async def test_nobody_is_asked_for_another_node_when_only_the_base_is_applied(
    kube: Kube, patch: object
) -> None:
    """Neither put on nor changed by the watcher; the rest of the Node is its own all the same."""
    kube.token = "watcher"  # noqa: S105 - no secret
    refused = await kube.patch(f"{NODES}/node-a", patch)
    assert (refused.status, "ask nobody" in refused.body["message"]) == (422, True)
    for token, status in ((ADMIN, 200), ("watcher", 200)):
        kube.token = token
        given = patch if token == ADMIN else LABEL
        assert (await kube.patch(f"{NODES}/node-a", given)).status == status


@pytest.mark.parametrize(("component", "patch"), [("ask-hyperpod", HYPERPOD), ("ask-gke", GKE)])
async def test_another_node_is_asked_for_when_its_component_is_applied(
    tmp_path: Path, component: str, patch: object
) -> None:
    """Of the own Node, as ever."""
    objects = composed(tmp_path, [BASE], [DAEMONSET / "components" / component])
    async with running_kube() as kube:
        kube.server.access.subjects |= SUBJECTS
        kube.server.api.policies += policies_of(objects)
        for name in ("node-a", "node-b"):
            kube.cluster.add_node(name)
        kube.token = "watcher"  # noqa: S105 - no secret
        assert (await kube.patch(f"{NODES}/node-a", patch)).status == 200
        assert (await kube.patch(f"{NODES}/node-b", patch)).status == 422


async def test_refusal_says_who_may_not_do_what(kube: Kube) -> None:
    """The policies' messages, which people read."""
    kube.token = "watcher"  # noqa: S105 - no secret
    refused = await kube.patch(f"{NODES}/node-b", LABEL)
    assert "the watcher on node-a may not change the Node node-b" in refused.body["message"]
    refused = await kube.patch(f"{NODES}/node-a", WRITTEN)
    assert f"only the relay may write the annotation {NOTICE}" in refused.body["message"]


def test_policy_is_bound_and_denies() -> None:
    """One that nobody binds judges nothing."""
    objects = _objects()
    policies = [one for one in objects if one["kind"] == "ValidatingAdmissionPolicy"]
    assert len(policies) == 3
    for policy in policies:
        name = policy["metadata"]["name"]
        bound: Manifest = named(objects, "ValidatingAdmissionPolicyBinding", name)["spec"]
        assert bound == {"policyName": name, "validationActions": ["Deny"]}
