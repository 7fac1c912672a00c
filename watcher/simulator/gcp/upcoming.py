"""What `upcoming-maintenance` says: the document, and the ways to say that there is none.

Source: Compute Engine documentation, "Monitor and plan for a host maintenance event"; its REST
reference, `resourceStatus.upcomingMaintenance`; AI Hypercomputer documentation for `{}`; two
clients of it, sapagent and scylladb, for the error and NONE (all read 2026-11-30).
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from types import MappingProxyType

from watcher.simulator.answers import compact_json
from watcher.simulator.gcp.changes import MaintenanceUpcoming, Nothing, Style
from watcher.simulator.gcp.tree import Leaf, camel_case

NO_NOTIFICATIONS = {"error": "no notifications have been received yet, try again later"}

_NONE: Mapping[Nothing, tuple[str, HTTPStatus]] = MappingProxyType(
    {
        Nothing.EMPTY: ("{}", HTTPStatus.OK),
        Nothing.TEXT: ("NONE", HTTPStatus.OK),
        Nothing.JSON: ('"NONE"', HTTPStatus.OK),
        Nothing.ERROR: (compact_json(NO_NOTIFICATIONS), HTTPStatus.SERVICE_UNAVAILABLE),
    }
)


def none_upcoming(said_as: Nothing) -> Leaf | None:
    """Return how it is answered that there is none; None where the path is not there at all."""
    said = _NONE.get(said_as)
    return Leaf(*said, is_verbatim=True) if said else None


def upcoming(change: MaintenanceUpcoming, happened: datetime) -> Leaf:
    """Return the document of a maintenance that was announced when it ``happened``."""

    def moment(after_s: float) -> str:
        told = happened.astimezone(UTC) + timedelta(seconds=after_s)
        return told.strftime("%Y-%m-%dT%H:%M:%SZ")

    document: dict[str, object] = {"can_reschedule": "true" if change.can_reschedule else "false"}
    if change.latest_start_s is not None:
        document["latest_window_start_time"] = moment(change.latest_start_s)
    document |= {
        "maintenance_reasons": list(change.reasons),
        "maintenance_status": change.status,
        "type": change.kind,
        "window_start_time": moment(change.start_s),
    }
    if change.end_s is not None:
        document["window_end_time"] = moment(change.end_s)
    if change.style is Style.CAMEL:
        document = {camel_case(name.replace("_", "-")): said for name, said in document.items()}
    if change.is_wrapped:
        document = {"Upcoming maintenance": document}
    return Leaf(compact_json(document), is_verbatim=True)
