"""What can happen to the simulated machine: events that are announced, start, and disappear."""

from dataclasses import dataclass
from enum import StrEnum

from watcher.simulator.changes import Change

LEAST_NOTICE_S = {
    "Freeze": 900.0,
    "Reboot": 900.0,
    "Redeploy": 600.0,
    "Preempt": 30.0,
    "Terminate": 300.0,
}
"""Seconds between an announcement and the earliest start, by EventType. Source: Azure virtual
machines, "Scheduled Events for Linux VMs", "Event scheduling" (read 2026-11-30)."""


class EventSource(StrEnum):
    """Who has asked for an event."""

    PLATFORM = "Platform"
    USER = "User"


@dataclass(frozen=True, kw_only=True, slots=True)
class EventScheduled(Change):
    """An event is announced, or the one of that id is as it is now.

    ``event_type`` is an open set of words. ``resources`` None is this machine alone. An event that
    starts disappears ``lasts_s`` later, None: never by itself.
    """

    event_id: str
    event_type: str
    resources: tuple[str, ...] | None
    not_before_s: float
    source: EventSource
    description: str
    duration_s: int
    lasts_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EventStarted(Change):
    """An event starts, whatever its time."""

    event_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EventEnded(Change):
    """An event disappears: Azure does not say whether it is done or was canceled."""

    event_id: str
