"""What a document of Azure's Scheduled Events says about one virtual machine: a pure parser.

The document is the same for all machines of a scale set, an availability set or a cloud service,
so most events are somebody else's: only ``Resources`` says whose.

Source: Azure virtual machines, "Scheduled Events for Linux VMs" (read 2026-11-30).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.azure_times import instant
from watcher.sources.words import detail, notice_id, object_with, shown, word

AZURE_EVENTS = "azure_events"
"""Name of the source."""

PREEMPT_WINDOW_S = 30.0
"""Warning of an eviction, in seconds. It is a minimum and best effort; notices of less than 10 s
have been seen, so more is not believed."""

TERMINATE_WINDOW_S = 900.0
"""Longest warning that a scale set can be set up to give before it deletes a machine, in seconds.
Source: "Terminate notification for Azure Virtual Machine Scale Set instances"."""

SCHEDULED_WINDOW_S = 90 * 86_400.0
"""Furthest that any other event is believed ahead. Failing hardware is announced about a week
ahead, so this only cuts nonsense."""

_KINDS = {
    "preempt": NoticeKind.PREEMPTION,
    "terminate": NoticeKind.TERMINATION,
    "reboot": NoticeKind.MAINTENANCE,
    "redeploy": NoticeKind.MAINTENANCE,
    # Memory is kept and the machine goes on, but it stands still for seconds: longer than some
    # collectives wait.
    "freeze": NoticeKind.LIVE_MIGRATION,
}
"""By EventType."""

_OTHER = NoticeKind.REBALANCE
"""What nobody has documented is information: no reason to stop, and one to save soon."""

_WINDOWS_S = {"preempt": PREEMPT_WINDOW_S, "terminate": TERMINATE_WINDOW_S}

_STATUSES = ("scheduled", "started")
_KEYS = frozenset({"EventId", "EventType", "EventStatus", "NotBefore", "Resources"})
_TEXT_LIMIT_CHARS = 256


@dataclass(frozen=True, slots=True)
class Event:
    """An event that concerns this machine."""

    notice: Notice
    event_id: str | None
    """As Azure writes it, for an approval."""
    is_alone: bool
    """Whether it concerns no other machine, as far as the document says."""
    is_started: bool


@dataclass(frozen=True, slots=True)
class Document:
    """What was said at one look."""

    incarnation: int | None
    """Rises whenever the events change; two documents with the same one say the same."""
    events: tuple[Event, ...]
    others: tuple[str, ...]
    """The ids of the events that concern only other machines."""
    is_whole: bool
    """False when an entry is no event, so that an event which is missing may be that one."""


def parse_document(body: bytes, received: Moment, vm_name: str | None) -> Document:
    """Return what the document says about the machine of that name; without a name, about any.

    An event with an odd type, status or time is a notice all the same, and so is one that does not
    say whom it concerns: ``detail["malformed"]`` says what was odd.

    Raises:
        SourceMalformed: The body is not Azure's: no JSON object with a list of events, or a list
            whose entries may hold an event of ours that can't be read.
    """
    data = object_with(("Events",), body, AZURE_EVENTS)
    entries = data["Events"]
    if not isinstance(entries, list):
        raise SourceMalformed(f"{AZURE_EVENTS}: Events is no list: {body[:64]!r}")
    events = [entry for entry in entries if isinstance(entry, dict) and _KEYS & entry.keys()]
    strange = len(entries) - len(events)
    ours: list[Mapping[str, object]] = []
    others: list[Mapping[str, object]] = []
    for event in events:
        (ours if _concerns(event, vm_name) else others).append(event)
    if strange and not ours:
        raise SourceMalformed(f"{AZURE_EVENTS}: {strange} entries are no events: {body[:64]!r}")
    odd = [f"{strange} more entries"] if strange else []
    incarnation = data.get("DocumentIncarnation")
    return Document(
        incarnation=incarnation if type(incarnation) is int else None,
        events=tuple(_event(event, odd, received, vm_name) for event in ours),
        others=tuple(word(event.get("EventId")) or "unknown" for event in others),
        is_whole=not strange,
    )


def _resources(event: Mapping[str, object]) -> Sequence[str] | None:
    """Return whom the event concerns; None where that can't be read."""
    names = event.get("Resources")
    if not isinstance(names, list) or not names:
        return None
    return names if all(isinstance(name, str) for name in names) else None


def _concerns(event: Mapping[str, object], vm_name: str | None) -> bool:
    """Tell whether an event is, or may be, about the machine."""
    names = _resources(event)
    if names is None or vm_name is None:
        return True
    return vm_name.casefold() in {name.strip().casefold() for name in names}


def _event(
    event: Mapping[str, object], strange: Sequence[str], received: Moment, vm_name: str | None
) -> Event:
    names, event_id = _resources(event), word(event.get("EventId"))
    event_type, status = _lowered("EventType", event), _lowered("EventStatus", event)
    deadline, odd_time = _deadline(event, received)
    odd = [
        *([] if event_type in _KINDS else [shown("EventType", event)]),
        *([] if status in _STATUSES else [shown("EventStatus", event)]),
        *([] if event_id else [shown("EventId", event)]),
        *([] if names else [shown("Resources", event)]),
        *odd_time,
        *strange,
    ]
    notice = Notice(
        # The case of an id varies. The type is a part of it: another is another fact.
        id=notice_id("azure", event_type, (event_id or "").lower() or None, vm_name),
        kind=_KINDS.get(event_type, _OTHER),
        source=AZURE_EVENTS,
        received=received,
        deadline=deadline,
        action=word(event.get("EventType")),
        instance_id=vm_name,
        detail=_words(event, names, odd),
    )
    is_alone = names is not None and len({name.strip().casefold() for name in names}) == 1
    return Event(notice, event_id, is_alone=is_alone, is_started=status == "started")


def _deadline(event: Mapping[str, object], received: Moment) -> tuple[Deadline | None, list[str]]:
    """Return by when all has to be done, and what is odd about that.

    The time is the earliest start, and it is blank once the event has started.
    """
    not_before = event.get("NotBefore")
    if _lowered("EventStatus", event) == "started" or not_before == "":
        return Deadline.after(received, 0.0), []
    starts = instant(not_before)
    if starts is None:
        return None, [shown("NotBefore", event)]
    longest_s = _WINDOWS_S.get(_lowered("EventType", event), SCHEDULED_WINDOW_S)
    return Deadline.stated(starts, seen=received, longest_s=longest_s), []


def _lowered(name: str, event: Mapping[str, object]) -> str:
    return (word(event.get(name)) or "").strip().lower()


def _words(
    event: Mapping[str, object], names: Sequence[str] | None, odd: Sequence[str]
) -> dict[str, str]:
    duration = event.get("DurationInSeconds")
    return detail(
        {
            **{
                name: word(event.get(name))
                for name in ("EventId", "EventStatus", "NotBefore", "EventSource")
            },
            "Description": word(event.get("Description"), _TEXT_LIMIT_CHARS),
            "DurationInSeconds": str(duration)[:16] if type(duration) is int else None,
            "Resources": ", ".join(names)[:_TEXT_LIMIT_CHARS] if names else None,
        },
        odd,
    )
