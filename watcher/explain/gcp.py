"""The bodies that Google Cloud sends: answers of the metadata server."""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.explain.answer import Answer, Asked, Body, Told
from watcher.sources.gcp_preemption import parse_maintenance_event, parse_preempted
from watcher.sources.gcp_upcoming import parse_upcoming_maintenance


def _preempted(body: bytes, asked: Asked) -> Answer:
    notice = parse_preempted(body, asked.received, asked.instance_id)
    return (Told(notice),) if notice else "the VM is not preempted"


def _event(body: bytes, asked: Asked) -> Answer:
    notice = parse_maintenance_event(body, asked.received, asked.instance_id)
    return (Told(notice),) if notice else "there is no maintenance event"


def _upcoming(body: bytes, asked: Asked) -> Answer:
    notice = parse_upcoming_maintenance(body, asked.received, asked.instance_id)
    return (Told(notice),) if notice else "no maintenance is announced"


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
    }
)
"""Every kind of body of Google Cloud's, by the name on the command line."""
