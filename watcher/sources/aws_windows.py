"""How much warning AWS promises before it takes an instance, in seconds.

A window is the most that is believed: a deadline further away than AWS has ever promised means
that a clock is wrong, and would lose the work.
"""

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


def spot_window_s(action: str | None) -> float:
    """Return the warning that comes with a Spot interruption; an unknown action gets the usual."""
    return HIBERNATE_WINDOW_S if action == "hibernate" else SPOT_WINDOW_S
