"""A machine in Azure and its metadata service as one stage for a scenario's changes."""

from collections.abc import Mapping

from aiohttp import web

from watcher.simulator.azure.changes import EventEnded, EventScheduled, EventStarted
from watcher.simulator.azure.events import Events
from watcher.simulator.azure.machine import Machine
from watcher.simulator.azure.metadata import ROOT, AzureMetadata
from watcher.simulator.azure.vocabulary import WORDS
from watcher.simulator.changes import Change


class AzureStage:
    """Passes each change to the part that it is about."""

    words = WORDS
    root = ROOT

    def __init__(self, machine: Machine, events: Events) -> None:
        self._machine = machine
        self._events = events

    def routes(self) -> list[web.RouteDef]:
        """List the routes of the metadata service."""
        return AzureMetadata(self._machine, self._events).routes()

    def refuse(self, change: Change) -> None:
        """Pass if there is an event for ``change`` to start or to end.

        Raises:
            ScenarioError: There is none.
        """
        if isinstance(change, EventStarted | EventEnded):
            self._events.refuse(change)

    def apply(self, change: Change) -> None:
        """Let ``change`` happen; one that finds nothing to end changes nothing."""
        match change:
            case EventScheduled():
                self._events.schedule(change)
            case EventStarted():
                self._events.start(change)
            case EventEnded():
                self._events.end(change)

    def in_force(self) -> Mapping[str, object]:
        """Return the document that the metadata service gives."""
        return self._events.document()
