"""The body that Azure sends: the document of Scheduled Events."""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.explain.answer import Answer, Asked, Body, Told
from watcher.sources.azure_document import parse_document


def _events(body: bytes, asked: Asked) -> Answer:
    document = parse_document(body, asked.received, asked.instance_id)
    if document.events:
        return tuple(Told(event.notice) for event in document.events)
    if document.others:
        return f"the events are for other machines than {asked.instance_id}"
    return "no event is scheduled"


AZURE_BODIES: Mapping[str, Body] = MappingProxyType(
    {
        "azure-scheduled-events": Body(
            "/metadata/scheduledevents; with --vm-name only that machine's events", _events
        )
    }
)
"""Every kind of body of Azure's, by the name on the command line."""
