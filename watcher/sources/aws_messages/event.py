"""An EventBridge event with its envelope read; what it is about is for the parser of its kind."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import word

_INSTANCE_ID = re.compile(r"i-[A-Za-z0-9-]{1,62}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Who says what about which resources, and when it was said."""

    source: str
    title: str
    """EventBridge's detail-type."""
    said: Mapping[str, object]
    """EventBridge's detail."""
    id: str | None
    """The same in every delivery of one event; some documented events have none."""
    emitted: datetime | None
    """When AWS said it, which is before we got it; None if that can't be read."""
    resources: tuple[str, ...]
    received: Moment

    @property
    def key(self) -> str | None:
        """What tells this event from the next one of its kind about the same instance."""
        return self.id or (self.emitted.isoformat() if self.emitted else None)

    @property
    def oddities(self) -> list[str]:
        """What of the envelope could not be read, for ``detail["malformed"]``."""
        return [] if self.emitted else ["time of the event can't be read"]

    def deadline(self, window_s: float) -> Deadline:
        """Return the end of a window that began when the event was said, not when it got here."""
        if self.emitted is None:
            return Deadline.after(self.received, window_s)
        return self.stated(self.emitted + timedelta(seconds=window_s), window_s)

    def stated(self, wall: datetime, longest_s: float) -> Deadline:
        """Return the instant AWS has stated, but never more than its promise from now."""
        return Deadline.stated(wall, seen=self.received, longest_s=longest_s)

    def instance_id(self, name: str) -> str:
        """Return the instance id under ``name``; ARNs are never taken apart for one.

        Raises:
            SourceMalformed: There is none, so nobody can be told.
        """
        found = as_instance_id(self.said.get(name))
        if found is None:
            raise SourceMalformed(f"{self.title}: detail has no instance id in {name}")
        return found


def as_instance_id(value: object) -> str | None:
    """Return an instance id, None for what is none, such as a host's or a volume's id."""
    return value if isinstance(value, str) and _INSTANCE_ID.fullmatch(value) else None


def as_event(data: Mapping[str, object], received: Moment) -> Event:
    """Read the envelope of an EventBridge event that has a ``detail-type`` or ``detail_type``.

    Raises:
        SourceMalformed: Its source, title or detail is no such thing.
    """
    title = data.get("detail-type", data.get("detail_type"))
    source, said = data.get("source"), data.get("detail")
    if not isinstance(title, str) or not isinstance(source, str):
        raise SourceMalformed("EventBridge event: source or detail-type is no text")
    if not isinstance(said, dict):
        raise SourceMalformed(f"{title[:80]!r}: detail is {type(said).__name__}, not an object")
    return Event(
        source=source,
        title=title,
        said=said,
        id=word(data.get("id")),
        emitted=rfc3339_instant(data.get("time")),
        resources=_texts(data.get("resources")),
        received=received,
    )


def _texts(value: object) -> tuple[str, ...]:
    """Return a text or the texts of a list; AWS's own samples have both under ``resources``."""
    several = value if isinstance(value, list) else [value]
    return tuple(text for text in several if isinstance(text, str))
