"""What ``instance/upcoming-maintenance`` says of the host's maintenance in days: a pure parser.

It has been seen in two spellings, with and without a wrapper, and with five ways to say nothing.

Source: Compute Engine documentation, "Monitor and plan for a host maintenance event", and the REST
reference's ``resourceStatus.upcomingMaintenance`` (both read 2026-11-30).
"""

from collections.abc import Mapping
from datetime import datetime

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind
from watcher.sources.gcp_preemption import METADATA
from watcher.sources.gcp_windows import EVENT_WINDOW_S, UPCOMING_WINDOW_S
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import bare, decoded, detail, notice_id, shown, word

UPCOMING = "instance/upcoming-maintenance"

_WRAPPER = "upcomingmaintenance"
_STARTS = ("windowstarttime", "starttime")
_WINDOW = (*_STARTS, "latestwindowstarttime", "windowendtime")
_OVER = ("COMPLETE", "COMPLETED")
_ONGOING = "ONGOING"
_NOT_YET = "no notifications"
_MOST_REASONS = 16


def parse_upcoming_maintenance(
    body: bytes,
    received: Moment,
    instance_id: str | None,
    *,
    does_migrate: bool = False,
) -> Notice | None:
    """Return the maintenance that is announced; None where none is, or where it is over.

    A failing part of the host is hardware. Where VMs are moved (``does_migrate``), any other
    maintenance is a migration, and so is advice.

    Raises:
        SourceMalformed: It is neither a document with a window nor a known way to say nothing.
    """
    if bare(body, 64).upper() == "NONE":
        return None
    said = decoded(body, UPCOMING)
    if isinstance(said, str) and said.strip().upper() == "NONE":
        return None
    document = _unwrapped(said, body)
    if not document or _says_not_yet(document):
        return None
    if not any(name in document for name in _WINDOW):
        raise SourceMalformed(f"{UPCOMING}: no window: {body[:64]!r}")
    return _announced(document, received, instance_id, does_migrate=does_migrate)


def read_upcoming_maintenance(
    said: Mapping[str, object],
    received: Moment,
    instance_id: str | None,
    *,
    does_migrate: bool = False,
) -> Notice | None:
    """Return the same of an object that the Compute API has of it, where it is one at all."""
    document = {_plain(name): value for name, value in said.items()}
    if not document:
        return None
    return _announced(document, received, instance_id, does_migrate=does_migrate)


def says_not_yet(body: bytes) -> bool:
    """Tell whether this is the error by which the server says that nothing was ever announced.

    It comes with a status of 503, and means that neither there is something nor that a thing that
    there was is over.
    """
    try:
        return _says_not_yet(_unwrapped(decoded(body, UPCOMING), body))
    except SourceMalformed:
        return False


def _says_not_yet(document: Mapping[str, object]) -> bool:
    return _NOT_YET in (word(document.get("error"), 256) or "").lower()


def _unwrapped(said: object, body: bytes) -> Mapping[str, object]:
    """Return the document with its names in one spelling: lower case, letters only."""
    if not isinstance(said, dict):
        raise SourceMalformed(f"{UPCOMING}: no object: {body[:64]!r}")
    document = {_plain(name): value for name, value in said.items()}
    inner = document.get(_WRAPPER)
    if isinstance(inner, dict):
        return {_plain(name): value for name, value in inner.items()}
    return document


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalpha())


def _announced(
    document: Mapping[str, object],
    received: Moment,
    instance_id: str | None,
    *,
    does_migrate: bool,
) -> Notice | None:
    status = (word(document.get("maintenancestatus")) or "").upper()
    if status in _OVER:
        return None
    return _notice(document, received, instance_id, does_migrate=does_migrate)


def _notice(
    document: Mapping[str, object],
    received: Moment,
    instance_id: str | None,
    *,
    does_migrate: bool,
) -> Notice:
    name = next((name for name in _STARTS if name in document), _STARTS[0])
    start, starts = word(document.get(name)), rfc3339_instant(document.get(name))
    reasons, status = _reasons(document), word(document.get("maintenancestatus"))
    kind = NoticeKind.LIVE_MIGRATION if does_migrate else NoticeKind.MAINTENANCE
    if any(reason.startswith("FAILURE") for reason in reasons):
        kind = NoticeKind.HARDWARE
    odd = [] if starts else [shown("windowStartTime", {"windowStartTime": document.get(name)})]
    return Notice(
        id=notice_id("gcp-upcoming-maintenance", word(document.get("type")), start, instance_id),
        kind=kind,
        source=METADATA,
        received=received,
        deadline=_deadline(starts, received, has_begun=(status or "").upper() == _ONGOING),
        action=word(document.get("type")),
        instance_id=instance_id,
        detail=detail(
            {
                "key": UPCOMING,
                "windowStartTime": start,
                "windowEndTime": word(document.get("windowendtime")),
                "latestWindowStartTime": word(document.get("latestwindowstarttime")),
                "maintenanceStatus": status,
                "maintenanceReasons": " ".join(reasons),
                "canReschedule": _truth(document.get("canreschedule")),
            },
            odd,
        ),
    )


def _deadline(starts: datetime | None, received: Moment, *, has_begun: bool) -> Deadline | None:
    """Return the start of the window; once that is past, there is as long as an event's warning.

    A window is hours long: a VM that runs in it has not outlived anything yet.
    """
    if has_begun or (starts is not None and starts <= received.wall):
        return Deadline.after(received, EVENT_WINDOW_S)
    if starts is None:
        return None
    return Deadline.stated(starts, seen=received, longest_s=UPCOMING_WINDOW_S)


def _reasons(document: Mapping[str, object]) -> list[str]:
    said = document.get("maintenancereasons")
    listed = said[:_MOST_REASONS] if isinstance(said, list) else [said]
    return [reason for reason in map(word, listed) if reason]


def _truth(said: object) -> str | None:
    return str(said).lower() if isinstance(said, bool | str) and len(str(said)) <= 5 else None
