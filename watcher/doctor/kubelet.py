"""What of a shutdown the kubelet leaves ordinary pods, by its own settings here; pure."""

import re

from watcher.doctor.window import Limit

_SETTING = re.compile(
    r"^(shutdownGracePeriod(?:CriticalPods)?):[ \t]*[\"']?([0-9a-z.]+)[\"']?[ \t]*$", re.MULTILINE
)
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)")
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

_LONGER = "shutdownGracePeriod of the kubelet, within InhibitDelayMaxSec of logind"


def pods_limit(settings: str) -> Limit | None:
    """Return what the kubelet's settings, a YAML text, leave pods; None without such a shutdown.

    Critical pods have the last part of the whole. Two lines are all that is read of it, so a list
    by priority (shutdownGracePeriodByPodPriority) is not understood. Source: Kubernetes
    documentation, "Graceful node shutdown" (read 2026-11-30).
    """
    said = dict(_SETTING.findall(settings))
    whole_s = duration_s(said.get("shutdownGracePeriod", ""))
    if not whole_s:
        return None
    critical_s = duration_s(said.get("shutdownGracePeriodCriticalPods", "")) or 0.0
    return Limit("the kubelet's graceful shutdown", max(0.0, whole_s - critical_s), _LONGER)


def duration_s(text: str) -> float | None:
    """Return a duration in seconds as Go writes one, such as ``1m30s``; None if it is none."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)
