"""How much warning AWS promises before it takes an instance, in seconds.

A window is the most that is believed: a deadline further away than AWS has ever promised means
that a clock is wrong, and would lose the work.
"""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.notice import NoticeKind

SPOT_ACTIONS = ("terminate", "stop", "hibernate")
"""What a Spot interruption can do. Source: EC2 user guide, "Spot Instance interruption notices"
(read 2026-11-30)."""

SPOT_WINDOW_S = 120.0
"""Warning that AWS promises, in seconds, at most and as best effort; never more is believed.
Source: the same page."""

HIBERNATE_WINDOW_S = 0.0
"""Hibernation begins with the notice, whatever time it states; processes are frozen. Source: EC2
user guide, "Hibernate interrupted Spot Instances" (read 2026-11-30)."""

RESERVATION_WINDOW_S = 120.0
"""Before the owner of an interruptible capacity reservation takes an instance back. Source: EC2
user guide, "Monitor interruptible Capacity Reservations" (read 2026-11-30)."""

CAPACITY_BLOCK_WINDOW_S = 600.0
"""Between the warning that a Capacity Block expires and the first terminations. Source: EC2 user
guide, "Monitor Capacity Blocks using EventBridge" (read 2026-11-30)."""

SCHEDULED_WINDOW_S = 90 * 86_400.0
"""Furthest that a scheduled event is believed ahead. AWS Health publishes them about two weeks
ahead, so this only cuts nonsense. Source: AWS Health user guide, event schema (read 2026-11-30)."""

OVER_AFTER_S: Mapping[NoticeKind, float] = MappingProxyType(
    {
        # As for the metadata key of the same name, which may go while the cloud still acts.
        NoticeKind.PREEMPTION: 300.0,
        # The instances of a reservation are ended one after the other, up to its end, which comes
        # 30 min after the deadline, or 60 in an UltraServer.
        NoticeKind.CAPACITY_END: 2 * 3600.0,
        # A lifecycle hook holds an instance for up to 48 h, heartbeats included. Source: EC2 Auto
        # Scaling user guide, "Amazon EC2 Auto Scaling lifecycle hooks" (read 2026-11-30).
        NoticeKind.TERMINATION: 48 * 3600.0,
        # Advice without a deadline; the interruption it warns of comes within minutes or not at
        # all.
        NoticeKind.REBALANCE: 3600.0,
    }
)
"""Seconds after the deadline, or after the receipt of what has none, at which a notice is over.

A kind that is not here ends with the node: work on a host may be late by days, and its end is told
by the metadata service.
"""


def spot_window_s(action: str | None) -> float:
    """Return the warning that comes with a Spot interruption; an unknown action gets the usual."""
    return HIBERNATE_WINDOW_S if action == "hibernate" else SPOT_WINDOW_S
