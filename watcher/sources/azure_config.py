"""What can be set about the Azure source."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from watcher import setting_values

ENDPOINT = "http://169.254.169.254"
"""Source: Azure virtual machines, "Azure Instance Metadata Service" (read 2026-11-30). It never
leaves the host, and has no address in IPv6."""

VM_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
"""A machine's name, or in a scale set ``NAME_NUMBER``. Source: Azure's naming rules for
Microsoft.Compute (read 2026-11-30), which are narrower."""


class Approve(StrEnum):
    """When Azure is told that an event may start before its time."""

    NEVER = "never"
    AFTER_ACTIONS = "after_actions"
    AFTER_SAVED = "after_saved"


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureConfig:
    """How the Azure source reaches Azure, and what it answers."""

    metadata_endpoint: str = ENDPOINT
    """Base URL of the instance metadata service (IMDS)."""
    vm_name: str | None = None
    """Whose events are ours; where it is not set, IMDS says it. It is the machine's name in Azure,
    in a scale set such as ``pool_3``, and not the host's."""
    approve: Approve = Approve.NEVER
    """``after_saved`` to let an event start early once all trainers that were at work have saved;
    ``after_actions`` where they can't say so, and get ``approve_wait_s`` to save. An event that
    concerns other machines too is never approved, nor is an eviction."""
    approve_wait_s: float = 120.0
    """Seconds between the actions and an approval ``after_actions``: longer than the longest
    save."""


def _vm_name(value: object) -> str:
    if not isinstance(value, str) or not VM_NAME.fullmatch(value):
        raise ValueError("a machine's name in Azure, such as gpu-7 or pool_3")
    return value


def _approve(value: object) -> Approve:
    return Approve(setting_values.one_of(*Approve)(value))


READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "metadata_endpoint": setting_values.url,
        "vm_name": _vm_name,
        "approve": _approve,
        "approve_wait_s": setting_values.seconds,
    }
)
