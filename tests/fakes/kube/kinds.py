"""The kinds that the fake serves, and how each is named in URLs."""

from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]
"""An object as it goes over the wire."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object."""

    group: str
    version: str
    kind: str
    plural: str
    short: tuple[str, ...] = ()
    is_namespaced: bool = True
    has_status: bool = False
    is_stored: bool = True
    """Whether it can be read back; a review is only answered."""

    @property
    def api_version(self) -> str:
        """As in an object's ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As in messages: ``leases.coordination.k8s.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


NODE = Kind("", "v1", "Node", "nodes", ("no",), is_namespaced=False, has_status=True)
POD = Kind("", "v1", "Pod", "pods", ("po",), has_status=True)
EVENT = Kind("", "v1", "Event", "events", ("ev",))
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", ("ns",), is_namespaced=False)
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets", ("ds",), has_status=True)
BUDGET = Kind(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", ("pdb",), has_status=True
)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
REVIEW = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    is_namespaced=False,
    is_stored=False,
)

KINDS = (NODE, POD, EVENT, NAMESPACE, DAEMON_SET, BUDGET, LEASE, REVIEW)


def kind_at(group: str, version: str, plural: str) -> Kind | None:
    """Return the kind that is served there."""
    wanted = (group, version, plural)
    return next((one for one in KINDS if (one.group, one.version, one.plural) == wanted), None)
