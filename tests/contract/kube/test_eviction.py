"""Evictions as a real kube-apiserver 1.36 was measured to treat them."""

import pytest

from tests.fakes.kube.kinds import Obj
from tests.support.kube import PODS, Kube

APP = {"app": "web"}


def _conditions(pod: Obj) -> list[tuple[str, str]]:
    found = pod["status"]["conditions"]
    return [(one["type"], one.get("reason", "")) for one in found if one["type"] != "Ready"]


async def test_eviction_is_granted_again_when_the_pod_is_already_terminating(kube: Kube) -> None:
    """201 with a Status of success, twice; and the condition says who has done it."""
    kube.cluster.add_pod("web", "node-a")
    for _ in range(2):
        reply = await kube.evict("web")
        assert (reply.status, reply.body["kind"], reply.body["status"]) == (
            201,
            "Status",
            "Success",
        )
    assert _conditions(kube.cluster.pod("web")) == [("DisruptionTarget", "EvictionByEvictionAPI")]


async def test_eviction_is_not_found_when_the_pod_is_missing(kube: Kube) -> None:
    """404, as for any other request about it."""
    reply = await kube.evict("web")
    assert (reply.status, reply.body["reason"]) == (404, "NotFound")


async def test_eviction_is_refused_when_the_budget_is_exhausted(kube: Kube) -> None:
    """429 without a Retry-After, with the cause; word for word as measured."""
    kube.cluster.add_pod("web", "node-a", labels=APP)
    kube.cluster.add_budget("pdb", APP, allowed=0)
    reply = await kube.evict("web")
    assert reply.status == 429
    assert "Retry-After" not in reply.headers
    assert {
        key: value for key, value in reply.body.items() if key not in ("apiVersion", "metadata")
    } == {
        "kind": "Status",
        "status": "Failure",
        "message": "Cannot evict pod as it would violate the pod's disruption budget.",
        "reason": "TooManyRequests",
        "details": {
            "causes": [
                {
                    "reason": "DisruptionBudget",
                    "message": "The disruption budget pdb needs 1 healthy pods and has 1 currently",
                }
            ]
        },
        "code": 429,
    }
    assert kube.cluster.terminating() == []


async def test_eviction_is_put_off_when_the_budget_was_never_observed(kube: Kube) -> None:
    """429 with Retry-After: 10, until the disruption controller has looked at it."""
    kube.cluster.add_pod("web", "node-a", labels=APP)
    kube.cluster.add_budget("pdb", APP, allowed=0, is_observed=False)
    reply = await kube.evict("web")
    assert (reply.status, reply.headers["Retry-After"]) == (429, "10")
    cause = reply.body["details"]["causes"][0]["message"]
    assert cause == "The disruption budget pdb is still being processed by the server."
    kube.cluster.allow("pdb", 1)
    assert (await kube.evict("web")).status == 201


async def test_budget_is_used_up_by_each_eviction_that_it_grants(kube: Kube) -> None:
    """Of two pods under a budget of one, one goes; a second eviction of it costs nothing."""
    for name in ("web-1", "web-2"):
        kube.cluster.add_pod(name, "node-a", labels=APP)
    kube.cluster.add_budget("pdb", APP, allowed=1)
    statuses = [(await kube.evict(name)).status for name in ("web-1", "web-2", "web-1")]
    assert statuses == [201, 429, 201]


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_eviction_ignores_the_budget_when_the_pod_does_not_run(
    kube: Kube, phase: str
) -> None:
    """Whatever the budget says."""
    kube.cluster.add_pod("web", "node-a", labels=APP, phase=phase)
    kube.cluster.add_budget("pdb", APP, allowed=0)
    assert (await kube.evict("web")).status == 201


async def test_eviction_fails_for_ever_when_two_budgets_cover_the_pod(kube: Kube) -> None:
    """500 is here no outage: the message says what it is."""
    kube.cluster.add_pod("web", "node-a", labels=APP)
    for name in ("one", "two"):
        kube.cluster.add_budget(name, APP, allowed=5)
    for _ in range(2):
        reply = await kube.evict("web")
        assert reply.status == 500
        wanted = (
            "more than one PodDisruptionBudget, which the eviction subresource does not support"
        )
        assert wanted in reply.body["message"]


async def test_eviction_conflicts_when_the_uid_is_another_pods(kube: Kube) -> None:
    """409, and the pod of that name is left alone, its budget too."""
    kube.cluster.add_pod("web", "node-a", labels=APP)
    kube.cluster.add_budget("pdb", APP, allowed=1)
    reply = await kube.evict("web", preconditions={"uid": "another"})
    assert (reply.status, reply.body["reason"]) == (409, "Conflict")
    assert kube.cluster.terminating() == []
    uid = kube.cluster.pod("web")["metadata"]["uid"]
    assert (await kube.evict("web", preconditions={"uid": uid})).status == 201


async def test_eviction_changes_nothing_when_it_is_a_dry_run(kube: Kube) -> None:
    """It is judged all the same."""
    kube.cluster.add_pod("web", "node-a", labels=APP)
    kube.cluster.add_budget("pdb", APP, allowed=1)
    statuses = [(await kube.evict("web", dryRun=["All"])).status for _ in range(2)]
    assert statuses == [201, 201]
    assert kube.cluster.terminating() == []
    kube.cluster.allow("pdb", 0)
    assert (await kube.evict("web", dryRun=["All"])).status == 429


async def test_delete_sets_no_condition_where_an_eviction_does(kube: Kube) -> None:
    """Who deletes for a disruption has to say so first, through pods/status; that stays."""
    kube.cluster.add_pod("plain", "node-a")
    await kube.ask("DELETE", f"{PODS}/plain")
    assert _conditions(kube.cluster.pod("plain")) == []
    kube.cluster.add_pod("said", "node-a")
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "Reclaimed"}
    reply = await kube.patch(
        f"{PODS}/said/status",
        {"status": {"conditions": [mark]}},
        media="application/strategic-merge-patch+json",
    )
    assert reply.status == 200
    await kube.ask("DELETE", f"{PODS}/said")
    assert _conditions(kube.cluster.pod("said")) == [("DisruptionTarget", "Reclaimed")]
