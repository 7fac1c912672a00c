"""How much warning Compute Engine promises before it takes a VM, in seconds.

A window is the most that is believed. The metadata server states no time with a preemption or a
maintenance event, so each counts from when it is seen.
"""

import re

PREEMPTION_WINDOW_S = 30.0
"""Between the preemption and the end of the VM, at most and as best effort. Source: Compute Engine
documentation, "Spot VMs", preemption process (read 2026-11-30)."""

EVENT_WINDOW_S = 60.0
"""Between ``maintenance-event`` and the event. Source: Compute Engine documentation, "Get live
migration notices" (read 2026-11-30)."""

GPU_EVENT_WINDOW_S = 3600.0
"""The same for a VM with GPUs. Source: Compute Engine documentation, "Handle GPU host maintenance
events" (read 2026-11-30)."""

UPCOMING_WINDOW_S = 90 * 86_400.0
"""Furthest that a maintenance is believed ahead; it is announced weeks ahead, so this only cuts
nonsense. Source: Compute Engine documentation, "Monitor and plan for a host maintenance event"
(read 2026-11-30)."""

LONGEST_NOTICE_S = 120.0
"""Longest ``preemptionNoticeDuration``; the only other value is 0. Source: Compute API reference
v1, ``Scheduling`` (read 2026-11-30)."""

_WITH_GPUS = re.compile(r"(a[0-9]+[a-z]?|g[0-9]+)-.*")
"""The accelerator-optimized machine types, each of which has GPUs: A2 to A4X, G2, G4. An N1 may
have some too, and its type does not tell. Source: Compute Engine documentation, "GPU machine types"
(read 2026-11-30)."""


def preemption_window_s(notice_s: float | None) -> float:
    """Return what to count on from the preemption: its notice where there is one, else 30 s.

    With a notice of 120 s the VM has 30 s more after it, at best; those are luck.
    """
    return notice_s or PREEMPTION_WINDOW_S


def event_window_s(machine_type: str | None) -> float:
    """Return what to count on from a maintenance event that has just been announced."""
    has_gpus = machine_type is not None and _WITH_GPUS.fullmatch(machine_type)
    return GPU_EVENT_WINDOW_S if has_gpus else EVENT_WINDOW_S
