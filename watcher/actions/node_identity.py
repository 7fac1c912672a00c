"""Whether a Node is this machine: by the cloud's id for it, and by the boot; pure.

The Node's name comes from the downward API, from a setting or from the host, and the last two may
be wrong. To cordon another machine would be worse than to cordon none.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

from watcher.kube.objects import Node

_PROVIDERS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "aws": (re.compile(r"aws:///[^/]*/(i-[A-Za-z0-9-]+)"), "instanceId"),
    "gcp": (re.compile(r"gce://[^/]+/[^/]+/([^/]+)"), "name"),
    "azure": (re.compile(r"azure:///.*/virtualMachines/([^/]+)", re.IGNORECASE), "name"),
}
"""By cloud: what of a providerID names the machine, and which fact of the metadata service is the
same. Source: the clouds' cloud-provider repositories (read 2026-11-30)."""

_SCALE_SET = re.compile(
    r"azure:///.*/virtualMachineScaleSets/([^/]+)/virtualMachines/([0-9]+)", re.IGNORECASE
)
"""A machine of a scale set, which its metadata service calls SET_NUMBER."""


class Verdict(StrEnum):
    """What is known of whether the Node is this machine."""

    OWN = "own"
    ANOTHER = "another"
    NOT_YET = "not_yet"
    """It has another boot's id, and nothing else is known: the kubelet may not have come to it."""
    UNKNOWN = "unknown"
    """Nothing proves it and nothing contradicts: its name has to do."""


def judge(node: Node, facts: Mapping[str, str], boot_id: str) -> tuple[Verdict, str]:
    """Return whether the Node is this machine, and why.

    Args:
        node: The Node.
        facts: What the metadata service has said of this machine, by the cloud's own names.
        boot_id: This boot's.
    """
    named, ours = machine_of(node.provider_id, facts)
    if named and ours:
        why = f"providerID {node.provider_id} and the metadata service's {ours}"
        return (Verdict.OWN if named.casefold() == ours.casefold() else Verdict.ANOTHER), why
    if not node.boot_id:
        return Verdict.UNKNOWN, "the Node has no boot id, and no id of the cloud's is known"
    why = f"boot id {node.boot_id} on the Node and {boot_id} here"
    return (Verdict.OWN if node.boot_id == boot_id else Verdict.NOT_YET), why


def machine_of(provider_id: str, facts: Mapping[str, str]) -> tuple[str, str]:
    """Return the machine that a providerID names, and what the metadata service calls this one.

    Either is empty where it is not known.
    """
    if found := _SCALE_SET.fullmatch(provider_id):
        return f"{found[1]}_{found[2]}", facts.get("name", "")
    for pattern, fact in _PROVIDERS.values():
        if found := pattern.fullmatch(provider_id):
            return found[1], facts.get(fact, "")
    return "", ""
