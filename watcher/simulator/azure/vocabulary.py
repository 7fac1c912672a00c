"""The changes of Azure's Scheduled Events in words."""

from types import MappingProxyType

from watcher.simulator.azure.changes import (
    LEAST_NOTICE_S,
    EventEnded,
    EventScheduled,
    EventSource,
    EventStarted,
)
from watcher.simulator.values import entries, one_of, seconds, signed_seconds, text, whole
from watcher.simulator.vocabulary import SHARED_WORDS, Fields, Word, Words

DEFAULT_EVENT_ID = "0A1B2C3D-0007-4A00-8000-000000000007"

LONGEST_DURATION_S = 86_400
"""The most that DurationInSeconds may say; -1 stands for unknown."""

EVENT_FIELDS = (
    *("type", "event_id", "resources", "not_before_s", "lasts_s"),
    *("source", "description", "duration_s"),
)


def event(at_s: float, fields: Fields) -> EventScheduled:
    """Read an event that is announced.

    Raises:
        ScenarioError: A field is out of its range.
    """
    event_type = text("type", fields.get("type", "Preempt"))
    usual_s = LEAST_NOTICE_S.get(event_type, LEAST_NOTICE_S["Freeze"])
    return EventScheduled(
        at_s=at_s,
        event_id=_event_id(fields),
        event_type=event_type,
        resources=_names(fields["resources"]) if "resources" in fields else None,
        not_before_s=signed_seconds("not_before_s", fields.get("not_before_s", usual_s)),
        source=one_of("source", fields.get("source", EventSource.PLATFORM), EventSource),
        description=text("description", fields["description"]) if "description" in fields else "",
        duration_s=whole("duration_s", fields.get("duration_s", -1), -1, LONGEST_DURATION_S),
        lasts_s=seconds("lasts_s", fields["lasts_s"]) if "lasts_s" in fields else None,
    )


def _event_id(fields: Fields) -> str:
    return text("event_id", fields.get("event_id", DEFAULT_EVENT_ID))


def _names(value: object) -> tuple[str, ...]:
    return tuple(text("a resource", name) for name in entries("resources", value))


WORDS: Words = MappingProxyType(
    {
        "event": Word(EVENT_FIELDS, event),
        "event_start": Word(
            ("event_id",),
            lambda at_s, fields: EventStarted(at_s=at_s, event_id=_event_id(fields)),
        ),
        "event_end": Word(
            ("event_id",),
            lambda at_s, fields: EventEnded(at_s=at_s, event_id=_event_id(fields)),
        ),
        **SHARED_WORDS,
    }
)
"""Every change there is, by its name."""
