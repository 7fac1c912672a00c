"""In which words whoever replaces Nodes is asked for another one: a label or a condition. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from watcher.kube.keys import CONDITION, PREFIX


class AskPlace(StrEnum):
    """Where on a Node it is asked."""

    LABEL = "label"
    CONDITION = "condition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is written on the Node, by the reason for which another one is wanted."""

    place: AskPlace
    key: str
    """A label's key, or a condition's type."""
    value: str
    """A label's value or a condition's status, where the reason has no word of its own."""
    by_reason: Mapping[str, str] = field(default_factory=dict)

    def value_for(self, reason: str) -> str:
        """Return what is written for a reason, such as ``straggler``."""
        return self.by_reason.get(reason, self.value)

    def values(self) -> frozenset[str]:
        """Return all that may be written."""
        return frozenset({self.value, *self.by_reason.values()})


PRESETS: Mapping[str, Ask] = MappingProxyType(
    {
        # The node is terminated within minutes, if automatic node recovery is on. Source: SageMaker
        # developer guide, "Manually quarantine, replace, or reboot a node" (read 2026-11-30).
        "hyperpod": Ask(
            place=AskPlace.LABEL,
            key="sagemaker.amazonaws.com/node-health-status",
            value="UnschedulablePendingReplacement",
        ),
        # GKE evicts the pods and reports the host; reservations of GPUs only. Source: AI
        # Hypercomputer documentation, "Manage AI-optimized GKE clusters" (read 2026-11-30).
        "gke": Ask(
            place=AskPlace.LABEL,
            key="cloud.google.com/fault-behavior",
            value="unspecified",
            by_reason=MappingProxyType({"straggler": "PERFORMANCE", "digest": "SDC"}),
        ),
    }
)
"""By the name of whose words they are. There is none for EKS, AKS and Karpenter: what they repair
by is written by the kubelet or by EKS's own agent, which writes over it every five minutes. Source:
eks-node-monitoring-agent, pkg/manager/node_exporter.go; AKS documentation, "Node auto-repair";
karpenter-provider-aws and -azure, RepairPolicies (read 2026-11-30)."""

KEYS = frozenset(ask.key for ask in PRESETS.values())
"""Labels that may be ours by what is noted on a Node, whatever is set now."""

_EXPECTED = (
    f"off, {', '.join(PRESETS)}, label:KEY=VALUE such as label:example.com/replace=true, or "
    "condition:TYPE=STATUS such as condition:NodeFaulty=True"
)
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_OWN = re.compile(
    rf"label:((?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_NAME})=({_NAME})"
    r"|condition:([A-Za-z][A-Za-z0-9]{0,62})=(True|False|Unknown)"
)
_OTHERS = frozenset(
    {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", CONDITION}
)
"""Conditions that have an owner: the kubelet, the network plug-in, and our own mark. Source:
Kubernetes documentation, "Node Status" (read 2026-11-30)."""


def ask_of(setting: str) -> Ask | None:
    """Return what a setting asks with; None where nobody is asked.

    Raises:
        ValueError: It is none; the message says what was expected.
    """
    if setting == "off":
        return None
    if setting in PRESETS:
        return PRESETS[setting]
    found = _OWN.fullmatch(setting)
    if found is None:
        raise ValueError(_EXPECTED)
    label, value, kind, status = found.groups()
    if label is not None:
        if label.startswith(PREFIX) or label.split("/")[0].endswith("kubernetes.io"):
            raise ValueError("a label whose prefix is neither ours nor Kubernetes' own")
        return Ask(place=AskPlace.LABEL, key=label, value=value)
    if kind in _OTHERS:
        raise ValueError(f"a condition that nobody else writes; {kind} has an owner")
    return Ask(place=AskPlace.CONDITION, key=kind, value=status)


def setting_of(value: object) -> str:
    """Return a setting that :func:`ask_of` understands; raises ValueError as it does."""
    text = value if isinstance(value, str) else ""
    ask_of(text)
    return text
