"""The instance's scheduled events, as EC2 lists them: those to come, and those that are over.

Source: EC2 user guide, "Scheduled events for your instances" (read 2026-11-30).
"""

import logging
from datetime import UTC, datetime, timedelta

from watcher.simulator.aws.changes import MaintenanceEnded, MaintenanceScheduled
from watcher.simulator.values import ScenarioError

log = logging.getLogger(__name__)

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Event = dict[str, str]


class Maintenance:
    """Events by their id, in the order in which they were announced."""

    def __init__(self) -> None:
        self._scheduled: dict[str, Event] = {}
        self._history: list[Event] = []

    @property
    def scheduled(self) -> list[Event]:
        """The events that `events/maintenance/scheduled` lists."""
        return list(self._scheduled.values())

    @property
    def history(self) -> list[Event]:
        """The events that `events/maintenance/history` lists."""
        return list(self._history)

    def schedule(self, change: MaintenanceScheduled, happened: datetime) -> None:
        """List an event, or in its place the one of that id as it is now."""

        def moment(after_s: float) -> str:
            return gmt(happened + timedelta(seconds=after_s))

        event = {
            "NotBefore": moment(change.not_before_s),
            "Code": change.code,
            "Description": change.description,
            "EventId": change.event_id,
        }
        if change.not_after_s is not None:
            event["NotAfter"] = moment(change.not_after_s)
        elif change.is_not_after_empty:
            event["NotAfter"] = ""
        if change.not_before_deadline_s is not None:
            event["NotBeforeDeadline"] = moment(change.not_before_deadline_s)
        event["State"] = "active"
        self._scheduled[change.event_id] = event
        log.info("maintenance scheduled code=%s NotBefore=%s", change.code, event["NotBefore"])

    def refuse(self, change: MaintenanceEnded) -> None:
        """Pass if there is an active event for ``change`` to end.

        Raises:
            ScenarioError: There is none of that id.
        """
        if self._scheduled.get(change.event_id, {}).get("State") != "active":
            active = [name for name, event in self._scheduled.items() if event["State"] == "active"]
            known = ", ".join(active) or "none"
            raise ScenarioError(
                f"no event {change.event_id} is active, so none to end; active: {known}"
            )

    def end(self, change: MaintenanceEnded) -> None:
        """Move an event to the history; one that somebody has ended before stays as it is."""
        event = self._scheduled.get(change.event_id)
        if event is None or event["State"] != "active":
            return
        ended = event | {
            "Description": f"[{change.state.capitalize()}] {event['Description']}",
            "State": change.state.value,
        }
        self._history.append(ended)
        if change.stays_listed:
            self._scheduled[change.event_id] = ended
        else:
            del self._scheduled[change.event_id]
        log.info("maintenance ended event_id=%s state=%s", change.event_id, change.state)


def gmt(moment: datetime) -> str:
    """Write ``moment`` as scheduled events have it: `1 Dec 2026 09:00:43 GMT`.

    That is neither RFC 3339 nor RFC 1123: no weekday, the day without a leading zero, the month
    in English whatever the locale.
    """
    at = moment.astimezone(UTC)
    return f"{at.day} {_MONTHS[at.month - 1]} {at:%Y %H:%M:%S} GMT"
