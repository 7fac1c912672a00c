"""The pods on our node: listed, evicted, deleted, and marked."""

import pytest

from tests.support.own_node import OwnNode
from watcher.errors import KubeBlocked, KubeConflict, KubeNotFound
from watcher.kube.objects import MIRROR, Pod

APP = {"app": "web"}


async def _pod(own: OwnNode, name: str = "web") -> Pod:
    return next(pod for pod in await own.pods.list() if pod.name == name)


async def test_pods_are_those_of_our_node_alone(own: OwnNode) -> None:
    """With what decides how each is ended."""
    own.cluster.add_pod("web", "node-a", grace_s=45, volumes=[{"name": "x", "emptyDir": {}}])
    own.cluster.add_pod("static", "node-a", owner="Node", annotations={MIRROR: "1"})
    own.cluster.add_pod("bare", "node-a", owner="", phase="Succeeded")
    own.cluster.add_pod("other", "node-b")
    pods = {pod.name: pod for pod in await own.pods.list()}
    assert set(pods) == {"web", "static", "bare"}
    web = pods["web"]
    assert (web.grace_s, web.controller, web.has_empty_dir) == (45, "ReplicaSet", True)
    assert (web.ends_at, web.ending_grace_s, web.is_finished) == (None, None, False)
    assert pods["static"].is_mirror
    assert (pods["bare"].controller, pods["bare"].is_finished) == ("", True)


async def test_pod_is_evicted_with_its_uid_and_the_grace_that_is_left(own: OwnNode) -> None:
    """And is shown as ending from then on."""
    own.cluster.add_pod("web", "node-a")
    await own.pods.evict(await _pod(own), 90)
    pod = await _pod(own)
    assert pod.ends_at is not None
    assert pod.ending_grace_s == 90
    sent = own.server.access.calls[-2].body["deleteOptions"]
    assert (sent["gracePeriodSeconds"], sent["preconditions"]) == (90, {"uid": pod.uid})


async def test_another_pod_of_that_name_is_left_alone(own: OwnNode) -> None:
    """By eviction and by delete: the one that was meant is gone."""
    own.cluster.add_pod("web", "node-a")
    meant = await _pod(own)
    own.cluster.lose_pod("web")
    with pytest.raises(KubeNotFound):
        await own.pods.evict(meant, 5)
    own.cluster.add_pod("web", "node-a")
    with pytest.raises(KubeConflict):
        await own.pods.evict(meant, 5)
    with pytest.raises(KubeConflict):
        await own.pods.delete(meant, 5)
    assert own.cluster.terminating() == []


async def test_eviction_is_blocked_when_the_budget_says_so(own: OwnNode) -> None:
    """At the moment, for 10 s, or for good under two: three answers, none of them an outage."""
    own.cluster.add_pod("web", "node-a", labels=APP)
    pod = await _pod(own)
    own.cluster.add_budget("one", APP, allowed=0, is_observed=False)
    with pytest.raises(KubeBlocked) as raised:
        await own.pods.evict(pod, 5)
    assert raised.value.retry_after_s == 10
    own.cluster.allow("one", 0)
    with pytest.raises(KubeBlocked, match="disruption budget") as raised:
        await own.pods.evict(pod, 5)
    assert raised.value.retry_after_s is None
    own.cluster.add_budget("two", APP, allowed=9)
    with pytest.raises(KubeBlocked, match="more than one PodDisruptionBudget"):
        await own.pods.evict(pod, 5)


async def test_grace_of_an_ending_pod_is_shortened_by_a_delete(own: OwnNode) -> None:
    """Never to zero: that would be a forced delete."""
    own.cluster.add_pod("web", "node-a")
    await own.pods.evict(await _pod(own), 90)
    await own.pods.delete(await _pod(own), 20)
    pod = await _pod(own)
    assert pod.ending_grace_s == 20
    for call in (own.pods.evict, own.pods.delete):
        with pytest.raises(ValueError, match="would not wait"):
            await call(pod, 0)


async def test_condition_is_put_on_the_pod_before_it_is_deleted(own: OwnNode) -> None:
    """A plain delete says nothing of why."""
    own.cluster.add_pod("web", "node-a")
    pod = await _pod(own)
    await own.pods.set_condition(pod, {"type": "DisruptionTarget", "status": "True"})
    await own.pods.delete(pod, 20)
    found = own.cluster.pod("web")["status"]["conditions"]
    assert [one["type"] for one in found] == ["Ready", "DisruptionTarget"]
    own.cluster.lose_pod("web")
    own.cluster.add_pod("web", "node-a")
    with pytest.raises(KubeConflict):
        await own.pods.set_condition(pod, {"type": "DisruptionTarget", "status": "True"})
