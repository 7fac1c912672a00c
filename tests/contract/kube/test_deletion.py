"""Graceful deletion as a real kube-apiserver 1.36 was measured to do it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from tests.fakes.kube.cluster import MIRROR
from tests.fakes.kube.server import fake_api_server
from tests.support.kube import PODS, Kube

NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


class Clock:
    """A wall clock that the test turns."""

    def __init__(self) -> None:
        self.wall = NOON

    def __call__(self) -> datetime:
        return self.wall


@pytest.fixture
def clock() -> Clock:
    """Return a clock that stands still."""
    return Clock()


@pytest.fixture
async def kube(clock: Clock) -> AsyncIterator[Kube]:
    """Run the fake on that clock."""
    async with fake_api_server(clock) as server, aiohttp.ClientSession() as session:
        yield Kube(server, session)


def _until(kube: Kube, pod: str) -> tuple[float, int]:
    """Return when the pod's grace is over, in seconds after noon, and the grace."""
    meta = kube.cluster.pod(pod)["metadata"]
    until = datetime.fromisoformat(meta["deletionTimestamp"])
    return (until - NOON).total_seconds(), meta["deletionGracePeriodSeconds"]


async def _delete(kube: Kube, **options: object) -> int:
    return (await kube.ask("DELETE", f"{PODS}/web", options)).status


@pytest.mark.parametrize("how", ["evict", "delete"])
async def test_deletion_only_asks_the_pod_to_end_when_it_is_on_a_node(kube: Kube, how: str) -> None:
    """MODIFIED now, DELETED when the kubelet has seen it end, which the test plays."""
    kube.cluster.add_pod("web", "node-a", grace_s=30)
    version = str(kube.server.store.version)
    async with kube.watching(PODS, resourceVersion=version) as lines:
        if how == "evict":
            assert (await kube.evict("web")).status == 201
            assert (await lines.next())[0] == "MODIFIED"  # the condition
        else:
            assert await _delete(kube) == 200
        kind, pod = await lines.next()
        assert (kind, pod["metadata"]["deletionGracePeriodSeconds"]) == ("MODIFIED", 30)
        assert _until(kube, "web") == (30, 30)
        kube.cluster.finish_pod("web")
        assert (await lines.next())[0] == "DELETED"
    assert kube.cluster.pods() == []


async def test_pod_is_removed_at_once_when_it_is_on_no_node(kube: Kube) -> None:
    """There is no kubelet to wait for."""
    kube.cluster.add_pod("web", "")
    assert await _delete(kube) == 200
    assert kube.cluster.pods() == []


async def test_grace_is_above_the_pods_own_when_the_first_call_says_so(kube: Kube) -> None:
    """90 on a pod of 30 is 90; a later call can't lengthen it any more."""
    kube.cluster.add_pod("web", "node-a", grace_s=30)
    assert (await kube.evict("web", gracePeriodSeconds=90)).status == 201
    assert _until(kube, "web") == (90, 90)
    assert await _delete(kube, gracePeriodSeconds=600) == 200
    assert await _delete(kube) == 200
    assert _until(kube, "web") == (90, 90)


async def test_grace_is_shortened_by_a_later_call_from_the_first_one_on(
    kube: Kube, clock: Clock
) -> None:
    """As the source has it: the new grace counts from when the pod was first asked to end."""
    kube.cluster.add_pod("web", "node-a", grace_s=90)
    assert await _delete(kube) == 200
    clock.wall += timedelta(seconds=10)
    assert await _delete(kube, gracePeriodSeconds=20) == 200
    assert _until(kube, "web") == (20, 20)


async def test_pod_is_removed_at_once_when_the_grace_is_zero(kube: Kube) -> None:
    """Force: nobody waits for the kubelet."""
    kube.cluster.add_pod("web", "node-a")
    assert await _delete(kube) == 200
    assert await _delete(kube, gracePeriodSeconds=0) == 200
    assert kube.cluster.pods() == []


async def test_grace_is_a_second_when_it_is_negative(kube: Kube) -> None:
    """Not zero, and not refused."""
    kube.cluster.add_pod("web", "node-a")
    assert (await kube.evict("web", gracePeriodSeconds=-5)).status == 201
    assert _until(kube, "web") == (1, 1)


async def test_deletion_conflicts_when_the_uid_is_another_pods(kube: Kube) -> None:
    """A pod of the same name that has come since is left alone."""
    kube.cluster.add_pod("web", "node-a")
    assert await _delete(kube, preconditions={"uid": "another"}) == 409
    assert kube.cluster.terminating() == []


@pytest.mark.parametrize("kind", ["DaemonSet", "mirror"])
async def test_pod_is_there_again_when_it_is_a_daemonsets_or_the_kubelets_own(
    kube: Kube, kind: str
) -> None:
    """So that it is no use to end it: another one is there at once, on the node that is to go."""
    annotations = {MIRROR: "1"} if kind == "mirror" else {}
    owner = "Node" if kind == "mirror" else kind
    before = kube.cluster.add_pod("web", "node-a", owner=owner, annotations=annotations)
    assert await _delete(kube) == 200
    kube.cluster.finish_pod("web")
    after = kube.cluster.pod("web")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["nodeName"] == "node-a"
    assert kube.cluster.terminating() == []
