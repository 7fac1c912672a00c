"""The document of Scheduled Events at this moment.

Source: Azure virtual machines, "Scheduled Events for Linux VMs" (read 2026-11-30).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime

from watcher.simulator.azure.changes import EventEnded, EventScheduled, EventStarted
from watcher.simulator.clock import ScenarioClock
from watcher.simulator.values import ScenarioError

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Event:
    change: EventScheduled
    not_before: datetime
    started: datetime | None = None


class Events:
    """Events by their id, in the order in which they were announced.

    Each starts by itself at its time, and the incarnation rises with everything that happens.
    """

    def __init__(self, clock: ScenarioClock, vm_name: str) -> None:
        self._clock = clock
        self._vm_name = vm_name
        self._events: dict[str, _Event] = {}
        self._incarnation = 1

    def document(self) -> Mapping[str, object]:
        """Return what the metadata service answers now."""
        self._catch_up()
        events = [self._listed(event) for event in self._events.values()]
        return {"DocumentIncarnation": self._incarnation, "Events": events}

    def schedule(self, change: EventScheduled) -> None:
        """List an event, or in its place the one of that id as it is now."""
        happened = self._clock.wall_time_at(change.at_s)
        not_before = happened + timedelta(seconds=change.not_before_s)
        self._events[_key(change.event_id)] = _Event(change, not_before)
        self._changed("scheduled", change)

    def refuse(self, change: EventStarted | EventEnded) -> None:
        """Pass if there is an event for ``change`` to happen to.

        Raises:
            ScenarioError: There is none of that id, or it has started already.
        """
        self._catch_up()
        event = self._events.get(_key(change.event_id))
        if event is None:
            known = ", ".join(one.change.event_id for one in self._events.values()) or "none"
            raise ScenarioError(f"there is no event {change.event_id}; there are: {known}")
        if isinstance(change, EventStarted) and event.started is not None:
            raise ScenarioError(f"the event {change.event_id} has started already")

    def start(self, change: EventStarted) -> None:
        """Let an event start; one that has already, or is not there, stays so."""
        self._catch_up()
        event = self._events.get(_key(change.event_id))
        if event is not None:
            self._start(event, self._clock.wall_time_at(change.at_s))

    def end(self, change: EventEnded) -> None:
        """Let an event disappear, if it is there."""
        event = self._events.pop(_key(change.event_id), None)
        if event is not None:
            self._changed("ended", event.change)

    def approve(self, event_ids: list[str]) -> bool:
        """Let events start at once, for all machines that they name; False if one is unknown."""
        self._catch_up()
        events = [self._events.get(_key(event_id)) for event_id in event_ids]
        for event in events:
            if event is not None:
                self._start(event, self._clock.wall_time())
        return all(events)

    def _start(self, event: _Event, moment: datetime) -> None:
        if event.started is None:
            event.started = moment
            self._changed("started", event.change)

    def _catch_up(self) -> None:
        now = self._clock.wall_time()
        for key, event in list(self._events.items()):
            if event.started is None and event.not_before <= now:
                self._start(event, event.not_before)
            lasts_s = event.change.lasts_s
            if event.started is None or lasts_s is None:
                continue
            if event.started + timedelta(seconds=lasts_s) <= now:
                del self._events[key]
                self._changed("ended", event.change)

    def _changed(self, what: str, change: EventScheduled) -> None:
        self._incarnation += 1
        log.info("event %s type=%s event_id=%s", what, change.event_type, change.event_id)

    def _listed(self, event: _Event) -> Mapping[str, object]:
        change = event.change
        # Cut to whole seconds, not rounded: a notice must not promise time that is not there.
        time = format_datetime(event.not_before.replace(microsecond=0), usegmt=True)
        return {
            "EventId": change.event_id,
            "EventStatus": "Started" if event.started else "Scheduled",
            "EventType": change.event_type,
            "ResourceType": "VirtualMachine",
            "Resources": [self._vm_name] if change.resources is None else list(change.resources),
            "NotBefore": "" if event.started else time,
            "Description": change.description,
            "EventSource": change.source,
            "DurationInSeconds": change.duration_s,
        }


def _key(event_id: str) -> str:
    """Return what an id is known by, whose case varies."""
    return event_id.lower()
