"""The bodies that Google Cloud sends: answers of its metadata server and APIs, and log entries."""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.explain.answer import Answer, Asked, Body, Told
from watcher.sources.gcp_entry import parse_entry
from watcher.sources.gcp_instance import parse_instance
from watcher.sources.gcp_preemption import parse_maintenance_event, parse_preempted
from watcher.sources.gcp_upcoming import parse_upcoming_maintenance
from watcher.sources.reading import Ignored


def _preempted(body: bytes, asked: Asked) -> Answer:
    notice = parse_preempted(body, asked.received, asked.instance_id)
    return (Told(notice),) if notice else "the VM is not preempted"


def _event(body: bytes, asked: Asked) -> Answer:
    notice = parse_maintenance_event(body, asked.received, asked.instance_id)
    return (Told(notice),) if notice else "there is no maintenance event"


def _upcoming(body: bytes, asked: Asked) -> Answer:
    notice = parse_upcoming_maintenance(body, asked.received, asked.instance_id)
    return (Told(notice),) if notice else "no maintenance is announced"


def _instance(body: bytes, asked: Asked) -> Answer:
    seen = parse_instance(body, asked.received, asked.instance_id)
    if seen.notices:
        return tuple(Told(notice) for notice in seen.notices)
    return "no end of the VM is known ahead" + (
        "" if seen.instance.is_running else "; it is ending"
    )


def _entry(body: bytes, asked: Asked) -> Answer:
    reading = parse_entry(body, asked.received)
    if isinstance(reading, Ignored):
        return reading.why
    mine = [
        told for told in reading.addressed if asked.instance_id in (None, told.notice.instance_id)
    ]
    return tuple(Told(told.notice) for told in mine) or (
        f"it is for other instances than {asked.instance_id}"
    )


GCP_BODIES: Mapping[str, Body] = MappingProxyType(
    {
        "gcp-preempted": Body("/computeMetadata/v1/instance/preempted", _preempted),
        "gcp-maintenance-event": Body(
            "/computeMetadata/v1/instance/maintenance-event, as for a VM without GPUs\n"
            "that is no Spot VM",
            _event,
        ),
        "gcp-upcoming-maintenance": Body(
            "/computeMetadata/v1/instance/upcoming-maintenance?alt=json", _upcoming
        ),
        "gcp-instance": Body(
            "what `gcloud compute instances describe --format=json` prints", _instance
        ),
        "gcp-pubsub": Body(
            "the data of a Pub/Sub message, decoded: an entry of the audit log", _entry
        ),
    }
)
"""Every kind of body of Google Cloud's, by the name on the command line."""
