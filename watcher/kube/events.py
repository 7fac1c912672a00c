"""Writes an Event about the Node, for people who look at it with kubectl."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass

from watcher.errors import KubeConflict
from watcher.kube.client import KubeClient
from watcher.kube.objects import Node

NAMESPACE = "default"
"""Where Events about a Node have to be, as it has no namespace itself."""

COMPONENT = "reprieve-watcher"
_MESSAGE_LIMIT_CHARS = 1024


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """What is said, once for each ``key``."""

    key: str
    reason: str
    message: str
    is_warning: bool
    at: str
    """RFC 3339, in whole seconds."""


async def tell(client: KubeClient, node: Node, event: NodeEvent) -> None:
    """Write an Event about a Node; one with the same key is there already, and enough.

    Raises:
        KubeError: It is not written, or it is unknown whether it is.
    """
    digest = hashlib.blake2b(f"{node.uid}\0{event.key}".encode(), digest_size=8).hexdigest()
    about = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{node.name[:200]}.{digest}", "namespace": NAMESPACE},
        "involvedObject": about,
        "reason": event.reason,
        "message": event.message[:_MESSAGE_LIMIT_CHARS],
        "type": "Warning" if event.is_warning else "Normal",
        "source": {"component": COMPONENT, "host": node.name},
        "reportingComponent": COMPONENT,
        "reportingInstance": node.name,
        "firstTimestamp": event.at,
        "lastTimestamp": event.at,
        "count": 1,
    }
    with suppress(KubeConflict):
        await client.send("POST", f"/api/v1/namespaces/{NAMESPACE}/events", body)
