"""What the daemon does on the API server, verb for verb, and whether its account may.

deploy/daemonset/base/rbac.yaml grants the same; a test holds the two to each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from watcher.errors import KubeMalformed
from watcher.kube.client import KubeClient
from watcher.kube.events import NAMESPACE

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
"""Where everybody may ask about himself. Source: Kubernetes documentation, "Authorization", the
role system:basic-user (read 2026-11-30)."""


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource of the core group."""

    verb: str
    resource: str
    """With its subresource: ``pods/eviction``."""
    namespace: str = ""
    """Where; everywhere if it is empty."""

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.verb} {self.resource}{f' in {self.namespace}' if self.namespace else ''}"


HEARING = (Right("list", "nodes"), Right("watch", "nodes"))
"""What the source needs."""

PROTECTING = (
    Right("get", "nodes"),
    Right("patch", "nodes"),
    Right("patch", "nodes/status"),
    Right("list", "pods"),
    Right("delete", "pods"),
    Right("create", "pods/eviction"),
    Right("patch", "pods/status"),
    Right("create", "events", NAMESPACE),
)
"""What the actions need."""


async def missing(client: KubeClient, rights: Sequence[Right]) -> list[Right]:
    """Return those that the client's account has not; raises KubeError."""
    return [right for right in rights if not await _has(client, right)]


async def _has(client: KubeClient, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    asked = {"verb": right.verb, "resource": resource, "subresource": subresource}
    if right.namespace:
        asked["namespace"] = right.namespace
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    said = await client.send("POST", REVIEWS, body)
    status = said.get("status")
    if not isinstance(status, dict) or not isinstance(status.get("allowed"), bool):
        raise KubeMalformed(f"POST {REVIEWS}: the answer has no status.allowed")
    return status["allowed"] is True
