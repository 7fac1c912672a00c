"""What Google's audit log says of a VM that the cloud takes, moves or ends. Pure.

An entry comes seconds to minutes after the act, by way of Cloud Logging and Pub/Sub. On the VM the
metadata server is the fast road; an entry is evidence, which tells a reclaim from a crash.

Source: Cloud Logging API reference v2, ``LogEntry``; Compute Engine documentation, "Audit logging",
system events; reference sheet on cloud reclaim contracts, section 2.5 (all read 2026-11-30).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind, rfc3339
from watcher.sources.reading import ForInstance, Grounds, Ignored, Notices, Reading
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import decoded, detail, inner, notice_id, shown, word

PUBSUB = "gcp_pubsub"
"""Name of the source that reads a Pub/Sub subscription."""

ENTRY_LIMIT_BYTES = 256 * 1024
"""Largest entry that Cloud Logging takes. Source: Cloud Logging documentation, "Quotas and limits"
(read 2026-11-30)."""

_SERVICE = "compute.googleapis.com"
_TEXT_LIMIT_CHARS = 256


@dataclass(frozen=True, slots=True)
class _Act:
    kind: NoticeKind
    window_s: float | None
    """From the entry's time to the VM's end, in seconds; None for an act that it survives."""


METHODS: Mapping[str, _Act] = MappingProxyType(
    {
        # 30 s: the shutdown period of a Spot VM, the shorter one; standard VMs have 120 s.
        "compute.instances.preempted": _Act(NoticeKind.PREEMPTION, 30.0),
        "compute.instances.terminateOnHostMaintenance": _Act(NoticeKind.MAINTENANCE, 30.0),
        "compute.instances.migrateOnHostMaintenance": _Act(NoticeKind.LIVE_MIGRATION, None),
    }
)
"""Every method whose entries are notices, exactly as the log has it. Source: as above; the periods:
Compute API reference v1, ``instances.stop`` (read 2026-11-30)."""


def parse_entry(body: bytes | str, received: Moment) -> Reading:
    """Return what a log entry is to us: a notice to one VM, or why it is nothing.

    ``received`` is when the message left the subscription.

    Raises:
        SourceMalformed: It is no log entry, or names no VM.
    """
    if len(body) > ENTRY_LIMIT_BYTES:
        raise SourceMalformed(f"log entry: larger than {ENTRY_LIMIT_BYTES} bytes")
    entry = decoded(body, "log entry")
    if not isinstance(entry, dict) or not isinstance(entry.get("protoPayload"), dict):
        raise SourceMalformed("log entry: no object with protoPayload, as audit logs have it")
    said: Mapping[str, object] = entry["protoPayload"]
    method = word(said.get("methodName"), _TEXT_LIMIT_CHARS) or ""
    if method not in METHODS or said.get("serviceName") != _SERVICE:
        service = word(said.get("serviceName"))
        return Ignored(Grounds.UNKNOWN_KIND, f"no parser is for {method!r:.80} of {service!r:.40}")
    resource = inner(entry, "resource")
    if resource.get("type") != "gce_instance":
        return Ignored(Grounds.NOT_INSTANCES, f"it is about {word(resource.get('type'))!r:.80}")
    labels = inner(resource, "labels")
    instance_id = word(labels.get("instance_id"))
    if instance_id is None or not (instance_id.isascii() and instance_id.isdecimal()):
        raise SourceMalformed(f"log entry of {method}: {shown('instance_id', labels)}")
    return Notices((_record(entry, method, instance_id).told(received),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One act of the cloud on one VM, as a log entry or an operation has recorded it."""

    method: str
    """One of METHODS."""
    name: str | None
    """The operation's: an act that takes long has two log entries, and one of these."""
    instance_id: str
    emitted: datetime | None
    """When it was recorded; None where that can't be read."""
    words: Mapping[str, str | None]
    """What else was said, for people."""
    odd: Sequence[str] = ()

    def told(self, received: Moment) -> ForInstance:
        """Return the notice to the VM; the same from whichever record it is read."""
        act = METHODS[self.method]
        deadline = None
        if act.window_s is not None:
            ends = (self.emitted or received.wall) + timedelta(seconds=act.window_s)
            deadline = Deadline.stated(ends, seen=received, longest_s=act.window_s)
        name = self.name or (rfc3339(self.emitted) if self.emitted else None)
        notice = Notice(
            id=notice_id("gcp-audit", name, self.instance_id),
            kind=act.kind,
            source=PUBSUB,
            received=received,
            deadline=deadline,
            action=self.method,
            instance_id=self.instance_id,
            detail=detail(self.words, self.odd),
        )
        return ForInstance(
            notice=notice, instance_id=self.instance_id, over_if_booted_after=self.emitted
        )


def _record(entry: Mapping[str, object], method: str, instance_id: str) -> Record:
    said = inner(entry, "protoPayload")
    stamped = rfc3339_instant(entry.get("timestamp"))
    operation = word(inner(entry, "operation").get("id"), _TEXT_LIMIT_CHARS)
    emitted = stamped or rfc3339_instant(entry.get("receiveTimestamp"))
    return Record(
        method=method,
        name=operation or word(entry.get("insertId")),
        instance_id=instance_id,
        emitted=emitted,
        words={
            "timestamp": word(entry.get("timestamp")),
            "resourceName": word(said.get("resourceName"), _TEXT_LIMIT_CHARS),
            "message": word(inner(said, "status").get("message"), _TEXT_LIMIT_CHARS),
        },
        odd=[] if emitted else [shown("timestamp", entry)],
    )
