"""The changes of a Compute Engine VM in words."""

from types import MappingProxyType

from watcher.simulator.changes import Change
from watcher.simulator.gcp.changes import (
    EtagsRenewed,
    MaintenanceEventSet,
    MaintenanceUpcoming,
    NoMaintenanceUpcoming,
    Nothing,
    PreemptedSet,
    Style,
)
from watcher.simulator.values import (
    ScenarioError,
    entries,
    one_of,
    signed_seconds,
    text,
    yes_or_no,
)
from watcher.simulator.vocabulary import SHARED_WORDS, Fields, Word, Words

TERMINATE = "TERMINATE_ON_HOST_MAINTENANCE"
"""Source: Compute Engine documentation, "Get live migration notices" (read 2026-11-30), where
`MIGRATE_ON_HOST_MAINTENANCE` and `NONE` are the others."""

UPCOMING_NOTICE_S = 7 * 86_400.0
WINDOW_S = 4 * 3600.0
"""Seconds from the announcement to the start, and from the start to the end of the window, as in
the documentation's sample."""

_FIELDS = (
    *("start_s", "end_s", "latest_start_s", "status", "type", "reasons"),
    *("can_reschedule", "style", "wrapped"),
)


def _preempted(at_s: float, fields: Fields) -> Change:
    return PreemptedSet(at_s=at_s, value=text("value", fields.get("value", "TRUE")))


def _event(at_s: float, fields: Fields) -> Change:
    return MaintenanceEventSet(at_s=at_s, value=text("value", fields.get("value", TERMINATE)))


def _upcoming(at_s: float, fields: Fields) -> Change:
    start_s = signed_seconds("start_s", fields.get("start_s", UPCOMING_NOTICE_S))
    end_s = signed_seconds("end_s", fields.get("end_s", start_s + WINDOW_S))
    if end_s < start_s:
        raise ScenarioError("end_s must be start_s or later")
    latest = fields.get("latest_start_s")
    reasons = entries("reasons", fields.get("reasons", ["PLANNED_UPDATE"]))
    return MaintenanceUpcoming(
        at_s=at_s,
        start_s=start_s,
        end_s=end_s,
        latest_start_s=None if latest is None else signed_seconds("latest_start_s", latest),
        status=text("status", fields.get("status", "PENDING")),
        kind=text("type", fields.get("type", "SCHEDULED")),
        reasons=tuple(text("a reason", reason) for reason in reasons),
        can_reschedule=yes_or_no("can_reschedule", fields.get("can_reschedule", True)),
        style=one_of("style", fields.get("style", Style.SNAKE), Style),
        is_wrapped=yes_or_no("wrapped", fields.get("wrapped", False)),
    )


def _none_upcoming(at_s: float, fields: Fields) -> Change:
    said_as = one_of("said_as", fields.get("said_as", Nothing.EMPTY), Nothing)
    return NoMaintenanceUpcoming(at_s=at_s, said_as=said_as)


WORDS: Words = MappingProxyType(
    {
        "preempted": Word(("value",), _preempted),
        "maintenance_event": Word(("value",), _event),
        "upcoming_maintenance": Word(_FIELDS, _upcoming),
        "no_upcoming_maintenance": Word(("said_as",), _none_upcoming),
        "new_etags": Word((), lambda at_s, _: EtagsRenewed(at_s=at_s)),
        **SHARED_WORDS,
    }
)
"""Every change there is, by its name."""
