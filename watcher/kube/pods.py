"""Calls about the pods on one node."""

import logging
from collections.abc import Mapping
from urllib.parse import quote

from watcher.errors import KubeMalformed
from watcher.kube.client import STRATEGIC, KubeClient
from watcher.kube.objects import Pod, items_of, pod_of

log = logging.getLogger(__name__)

PODS = "/api/v1/pods"


class PodApi:
    """Reads and ends the pods of one node.

    Args:
        client: Where to.
        node: The node's name.
    """

    def __init__(self, client: KubeClient, node: str) -> None:
        self._client = client
        self.selector = f"spec.nodeName={node}"
        """What of all pods are this node's, for a list and for a watch."""
        self._odd: list[str] = []

    async def list(self, labels: str | None = None) -> tuple[Pod, ...]:
        """Return every pod on the node, or those whose labels fit a selector; raises KubeError.

        One that makes no sense hides no other: it is told in the log, and can only be left alone.
        """
        query = {"labelSelector": labels} if labels else {}
        listed, seen_at = await self._client.dated(PODS, fieldSelector=self.selector, **query)
        found, odd = [], []
        for item in items_of(listed)[0]:
            try:
                found.append(pod_of(item, seen_at))
            except KubeMalformed as error:
                odd.append(str(error))
        if odd and odd != self._odd:  # a drain lists every second
            log.warning("pods not understood count=%d why=%s", len(odd), odd[0])
        self._odd = odd
        return tuple(found)

    async def evict(self, pod: Pod, grace_s: int) -> None:
        """Ask the pod to end within ``grace_s`` seconds, if its budget allows it.

        Raises:
            KubeBlocked: The budget does not, at the moment.
            KubeConflict: Another pod has that name by now, so this one is gone.
            KubeNotFound: It is gone.
            KubeError: It failed otherwise.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": _options(pod, grace_s),
        }
        await self._client.send("POST", f"{_path(pod)}/eviction", body)

    async def delete(self, pod: Pod, grace_s: int) -> None:
        """Have the pod end within ``grace_s`` seconds, whatever its budget says.

        A pod that has been asked to end already gets less time by it, never more.

        Raises:
            KubeConflict: Another pod has that name by now, so this one is gone.
            KubeNotFound: It is gone.
            KubeError: It failed otherwise.
        """
        await self._client.send("DELETE", _path(pod), _options(pod, grace_s))

    async def set_condition(self, pod: Pod, condition: Mapping[str, str]) -> None:
        """Put a condition on the pod in the place of one of its type; raises KubeError."""
        body = {
            "metadata": {"uid": pod.uid},
            "status": {"conditions": [dict(condition)]},
        }
        await self._client.send("PATCH", f"{_path(pod)}/status", body, media=STRATEGIC)


def _path(pod: Pod) -> str:
    namespace, name = quote(pod.namespace, safe=""), quote(pod.name, safe="")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def _options(pod: Pod, grace_s: int) -> dict[str, object]:
    if grace_s < 1:
        # 0 takes the pod off the API server while its processes still write.
        raise ValueError(f"a grace of {grace_s} s would not wait for the pod's processes")
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": grace_s,
        "preconditions": {"uid": pod.uid},
    }
