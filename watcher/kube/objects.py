"""Nodes and pods as the daemon needs them, read from what came over the wire. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from watcher.errors import KubeMalformed
from watcher.kube.answers import JsonObject

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a pod that the kubelet has from a file; the API can't end it. Source: Kubernetes
documentation, "Well-known labels, annotations and taints" (read 2026-11-30)."""

_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading an object raises that is not of the shape that the API promises."""

_LONGEST_S = 10**9
"""Longest grace that is told from a longer one, in seconds: a generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node as the API server has it at one version."""

    name: str
    uid: str
    version: str
    provider_id: str
    boot_id: str
    is_unschedulable: bool
    taints: tuple[Mapping[str, str], ...]
    """As they came, with every field: the list is written back as a whole."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod as the API server has it."""

    name: str
    namespace: str
    uid: str
    phase: str
    annotations: Mapping[str, str]
    controller: str
    """The kind of the controller that would make another; empty for a bare pod."""
    grace_s: int
    """What it wants between SIGTERM and SIGKILL."""
    ends_at: datetime | None
    """Until when it may go on once it was asked to end, by the API server's clock; None if nobody
    has."""
    ending_grace_s: int | None
    """The grace that it was asked with."""
    seen_at: datetime | None = None
    """When it was so, by the same clock; None if the server has not said."""
    has_empty_dir: bool

    @property
    def is_mirror(self) -> bool:
        """Whether the kubelet has it from a file, so that no API call ends it."""
        return MIRROR in self.annotations

    @property
    def is_finished(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.phase in ("Succeeded", "Failed")


def node_of(obj: JsonObject) -> Node:
    """Return the Node that an object is.

    Raises:
        KubeMalformed: It is none.
    """
    try:
        meta, spec, status = obj["metadata"], _part(obj, "spec"), _part(obj, "status")
        return Node(
            name=_text(meta["name"]),
            uid=_text(meta["uid"]),
            version=_text(meta["resourceVersion"]),
            provider_id=_text(spec.get("providerID", "")),
            boot_id=_text(_part(status, "nodeInfo").get("bootID", "")),
            is_unschedulable=spec.get("unschedulable") is True,
            taints=tuple(dict(taint) for taint in spec.get("taints") or ()),
            labels=_texts(meta, "labels"),
            annotations=_texts(meta, "annotations"),
        )
    except _DAMAGE as error:
        raise KubeMalformed(f"no Node: {type(error).__name__}: {error}"[:200]) from error


def pod_of(obj: JsonObject, seen_at: datetime | None = None) -> Pod:
    """Return the pod that an object is, and was when the API server's clock showed ``seen_at``.

    Raises:
        KubeMalformed: It is none.
    """
    try:
        meta, spec, status = obj["metadata"], _part(obj, "spec"), _part(obj, "status")
        ends_at = meta.get("deletionTimestamp")
        ending_grace_s = meta.get("deletionGracePeriodSeconds")
        owners = meta.get("ownerReferences") or ()
        return Pod(
            name=_text(meta["name"]),
            namespace=_text(meta["namespace"]),
            uid=_text(meta["uid"]),
            phase=_text(status.get("phase", "")),
            annotations=_texts(meta, "annotations"),
            controller=next((_text(one["kind"]) for one in owners if one.get("controller")), ""),
            grace_s=_seconds(spec.get("terminationGracePeriodSeconds", 30)),
            ends_at=None if ends_at is None else _instant(ends_at),
            ending_grace_s=None if ending_grace_s is None else _seconds(ending_grace_s),
            seen_at=seen_at,
            has_empty_dir=any("emptyDir" in volume for volume in spec.get("volumes") or ()),
        )
    except _DAMAGE as error:
        raise KubeMalformed(f"no pod: {type(error).__name__}: {error}"[:200]) from error


def items_of(listed: JsonObject) -> tuple[tuple[JsonObject, ...], str]:
    """Return the objects of a list, and the version at which it was made.

    Raises:
        KubeMalformed: It is no list.
    """
    try:
        items = tuple(dict(item) for item in listed["items"] or ())
        return items, _text(listed["metadata"]["resourceVersion"])
    except _DAMAGE as error:
        raise KubeMalformed(f"no list: {type(error).__name__}: {error}"[:200]) from error


def _part(obj: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an object within an object; what is empty is left out on the wire."""
    return dict(obj.get(name) or {})


def _texts(obj: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return those of an object's words that are any."""
    return {key: word for key, word in _part(obj, name).items() if isinstance(word, str)}


def _text(value: object) -> str:
    """Return a text that can be sent back and shown; half a surrogate pair can't."""
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError(f"a {type(value).__name__} is no printable text")
    return value


def _seconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a {type(value).__name__} is no number of seconds")
    return max(0, min(value, _LONGEST_S))


def _instant(value: object) -> datetime:
    at = datetime.fromisoformat(_text(value))
    if at.tzinfo is None:
        raise ValueError("an instant without a time zone")
    return at
