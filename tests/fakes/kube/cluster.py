"""What a test puts into the cluster, and plays there: kubelet, controllers, other people."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy

from tests.fakes.kube.kinds import BUDGET, EVENT, NODE, POD, Obj
from tests.fakes.kube.store import Store, stamp

NAMESPACE = "team-a"

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a pod that the kubelet has from a file."""


class Cluster:
    """The test's hands in the cluster; none of this is recorded as a call."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add_node(
        self, name: str, *, provider_id: str = "", boot_id: str = "", **spec: object
    ) -> Obj:
        """Let a Node join; ``spec`` has fields such as ``taints`` and ``unschedulable``."""
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        given = {"providerID": provider_id} if provider_id else {}
        return self._store.create(
            NODE,
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "spec": given | spec,
                "status": {"conditions": [ready], "nodeInfo": {"bootID": boot_id}},
            },
        )

    def node(self, name: str) -> Obj:
        """Return a Node as it is."""
        return self._store.get(NODE, "", name)

    def content(self, name: str) -> bytes:
        """Return all of a Node but its version, as bytes that are the same for the same Node."""
        node = self.node(name)
        del node["metadata"]["resourceVersion"]
        return json.dumps(node, sort_keys=True).encode()

    def edit_node(self, name: str, **spec: object) -> Obj:
        """Change a Node's spec as another controller does; None takes a field away."""
        node = self.node(name)
        merged = node.get("spec", {}) | spec
        node["spec"] = {key: value for key, value in merged.items() if value is not None}
        return self._store.replace(NODE, node)

    def mark_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str | None] | None = None,
        annotations: Mapping[str, str | None] | None = None,
    ) -> Obj:
        """Change a Node's labels and annotations as another controller does; None removes one."""
        node = self.node(name)
        for place, given in (("labels", labels), ("annotations", annotations)):
            merged = node["metadata"].get(place, {}) | dict(given or {})
            node["metadata"][place] = {k: v for k, v in merged.items() if v is not None}
        return self._store.replace(NODE, node)

    def add_pod(  # noqa: PLR0913 - a pod has that many sides
        self,
        name: str,
        node: str,
        *,
        namespace: str = NAMESPACE,
        grace_s: int = 30,
        phase: str = "Running",
        owner: str = "ReplicaSet",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        volumes: Sequence[Obj] = (),
    ) -> Obj:
        """Let a pod run on a node; without an owner it is a bare one."""
        meta: Obj = {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        }
        if owner:
            reference = {"apiVersion": "apps/v1", "kind": owner, "name": "owner", "uid": "0"}
            meta["ownerReferences"] = [reference | {"controller": True}]
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
        spec = {
            "nodeName": node,
            "terminationGracePeriodSeconds": grace_s,
            "containers": [{"name": "main", "image": "x"}],
            "volumes": [deepcopy(one) for one in volumes],
        }
        status = {"phase": phase, "conditions": [ready]}
        return self._store.create(POD, {"metadata": meta, "spec": spec, "status": status})

    def pod(self, name: str, namespace: str = NAMESPACE) -> Obj:
        """Return a pod as it is."""
        return self._store.get(POD, namespace, name)

    def pods(self) -> list[str]:
        """Return the names of all pods that are there."""
        return [one["metadata"]["name"] for one in self._store.every(POD)]

    def terminating(self) -> list[str]:
        """Return the names of the pods that have been asked to end."""
        found = self._store.every(POD)
        return [one["metadata"]["name"] for one in found if "deletionTimestamp" in one["metadata"]]

    def finish_pod(self, name: str, namespace: str = NAMESPACE) -> None:
        """Play the kubelet: a pod that was asked to end has ended, and is taken away.

        One that the kubelet has from a file, or that is a DaemonSet's, is there again at once.
        """
        pod = self.pod(name, namespace)
        assert "deletionTimestamp" in pod["metadata"], f"nobody has asked {name} to end"
        self._store.remove(POD, namespace, name)
        meta = pod["metadata"]
        owners = {one["kind"] for one in meta.get("ownerReferences", ())}
        if MIRROR in meta.get("annotations", {}) or "DaemonSet" in owners:
            kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
            again = {key: meta[key] for key in kept if key in meta}
            self._store.create(
                POD, {"metadata": again, "spec": pod["spec"], "status": pod["status"]}
            )

    def lose_pod(self, name: str, namespace: str = NAMESPACE) -> None:
        """Take a pod away at once, as a forced delete does."""
        self._store.remove(POD, namespace, name)

    def add_budget(
        self,
        name: str,
        selector: Mapping[str, str],
        *,
        allowed: int,
        is_observed: bool = True,
        namespace: str = NAMESPACE,
    ) -> Obj:
        """Put a PodDisruptionBudget over pods with these labels."""
        budget = self._store.create(
            BUDGET,
            {
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": dict(selector)}},
            },
        )
        return self._judge(budget, allowed) if is_observed else budget

    def allow(self, name: str, allowed: int, namespace: str = NAMESPACE) -> Obj:
        """Play the disruption controller: so many pods may go now."""
        return self._judge(self._store.get(BUDGET, namespace, name), allowed)

    def events(self, namespace: str = "default") -> list[Obj]:
        """Return the Events there."""
        return self._store.every(EVENT, namespace)

    def expire(self) -> None:
        """Forget all that has happened: every watch from before is told 410."""
        self._store.forget()

    def _judge(self, budget: Obj, allowed: int) -> Obj:
        budget["status"] = {
            "observedGeneration": budget["metadata"]["generation"],
            "disruptionsAllowed": allowed,
            "desiredHealthy": 1,
            "currentHealthy": 1 + allowed,
            "expectedPods": 1 + allowed,
            "disruptedPods": {},
            "conditions": [
                {
                    "type": "DisruptionAllowed",
                    "status": "True" if allowed else "False",
                    "lastTransitionTime": stamp(self._store.now()),
                }
            ],
        }
        return self._store.replace(BUDGET, budget)
