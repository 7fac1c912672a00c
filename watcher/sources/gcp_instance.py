"""What the Compute API says of a VM: how it may end, and what of that is known ahead. Pure.

The metadata server has no key for a limited run time, nor for how much warning a preemption comes
with: both are only here. What is known ahead is a level: what an answer leaves out is over.

Source: Compute API reference v1, ``instances`` (``scheduling``, ``resourceStatus``); Compute Engine
documentation, "Limit the run time of a VM" (both read 2026-11-30).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from watcher.errors import SourceMalformed
from watcher.notice import Deadline, Moment, Notice, NoticeKind, rfc3339
from watcher.sources.gcp_upcoming import read_upcoming_maintenance
from watcher.sources.gcp_windows import LONGEST_NOTICE_S
from watcher.sources.times import rfc3339_instant
from watcher.sources.words import decoded, detail, inner, notice_id, shown, word

COMPUTE = "gcp_compute"
"""Name of the source that asks the Compute API."""

FIELDS = "id,name,status,lastStartTimestamp,scheduling,resourceStatus"
"""What is asked for: whole objects, because one unknown field in a mask is refused with 400."""

RUN_TIME_LIMIT_S = 120 * 86_400.0
"""Longest run time that a VM can be given. Source: Compute Engine documentation, "Limit the run
time of a VM" (read 2026-11-30)."""

_RUNNING = "RUNNING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """What is known of a VM besides notices; None and 0 where the API does not say."""

    is_running: bool
    """Only then does silence about an end mean that none is planned."""
    provisioning_model: str | None
    termination_action: str | None
    on_host_maintenance: str | None
    notice_s: float
    """Seconds that a preemption is announced ahead of its shutdown."""

    @property
    def facts(self) -> dict[str, str]:
        """The same for people."""
        return detail(
            {
                "provisioning_model": self.provisioning_model,
                "termination_action": self.termination_action,
                "on_host_maintenance": self.on_host_maintenance,
                "preemption_notice_s": f"{self.notice_s:g}",
            }
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer of the API: the VM, and every end of it that is known ahead."""

    instance: Instance
    notices: tuple[Notice, ...]


def parse_instance(body: bytes | str, received: Moment, instance_id: str | None) -> Seen:
    """Return what an answer of ``instances.get`` says; see :func:`read_instance`."""
    said = decoded(body, "instance")
    if not isinstance(said, dict):
        raise SourceMalformed(f"instance: {type(said).__name__}, not an object")
    return read_instance(said, received, instance_id)


def read_instance(said: Mapping[str, object], received: Moment, instance_id: str | None) -> Seen:
    """Return what the API says of the VM with this id; None takes any.

    An end that is announced with a time that can't be read is a notice all the same, but one whose
    time was before the VM's last start is about an earlier life.

    Raises:
        SourceMalformed: It is no VM, or another one: a group gives the names of its dead anew.
    """
    found = word(said.get("id"))
    is_id = found is not None and found.isascii() and found.isdecimal()
    if found is None or not is_id or word(said.get("status")) is None:
        raise SourceMalformed(f"instance: {shown('id', said)}, {shown('status', said)}")
    if instance_id is not None and found != instance_id:
        raise SourceMalformed(f"instance: its id is {found}, ours is {instance_id}")
    scheduling = inner(said, "scheduling")
    notice = _seconds(scheduling.get("preemptionNoticeDuration")) or 0.0
    instance = Instance(
        is_running=said["status"] == _RUNNING,
        provisioning_model=word(scheduling.get("provisioningModel")),
        termination_action=word(scheduling.get("instanceTerminationAction")),
        on_host_maintenance=word(scheduling.get("onHostMaintenance")),
        notice_s=min(notice, LONGEST_NOTICE_S),
    )
    known = (
        _run_time_over(said, instance, received, found),
        _maintenance(said, instance, received, found),
    )
    return Seen(instance, tuple(notice for notice in known if notice is not None))


def _run_time_over(
    said: Mapping[str, object], instance: Instance, received: Moment, instance_id: str
) -> Notice | None:
    """Return the end of a limited run time: as the API has reckoned it, else by its rule."""
    scheduling = inner(said, "scheduling")
    status = inner(inner(said, "resourceStatus"), "scheduling")
    started = rfc3339_instant(said.get("lastStartTimestamp"))
    stated = status.get("terminationTimestamp") or scheduling.get("terminationTime") or None
    ends = rfc3339_instant(stated)
    if stated is None:
        ends = _after(started, _seconds(scheduling.get("maxRunDuration")))
        if ends is None:
            return None
    if ends is not None and started is not None and ends <= started:
        return None
    odd = [] if ends else [shown("terminationTimestamp", {"terminationTimestamp": stated})]
    end = rfc3339(ends) if ends else word(stated)
    return Notice(
        id=notice_id("gcp-run-time", end, instance_id),
        kind=NoticeKind.CAPACITY_END,
        source=COMPUTE,
        received=received,
        deadline=(
            Deadline.stated(ends, seen=received, longest_s=RUN_TIME_LIMIT_S) if ends else None
        ),
        action=instance.termination_action,
        instance_id=instance_id,
        detail=detail({"provisioningModel": instance.provisioning_model, "ends": end}, odd),
    )


def _maintenance(
    said: Mapping[str, object], instance: Instance, received: Moment, instance_id: str
) -> Notice | None:
    """Return the maintenance of the host that is planned, or goes on."""
    planned = inner(inner(said, "resourceStatus"), "upcomingMaintenance")
    does_migrate = instance.on_host_maintenance == "MIGRATE"
    notice = read_upcoming_maintenance(planned, received, instance_id, does_migrate=does_migrate)
    if notice is None:
        return None
    # Another id than the metadata server's: neither may take back what the other still says.
    return replace(notice, id=notice_id("gcp-compute", notice.id), source=COMPUTE)


def _after(started: datetime | None, seconds: float | None) -> datetime | None:
    if started is None or seconds is None:
        return None
    return started + timedelta(seconds=min(seconds, RUN_TIME_LIMIT_S))


def _seconds(said: object) -> float | None:
    """Return a Duration in seconds; the API writes an int64 as a text."""
    value = said.get("seconds") if isinstance(said, dict) else None
    text = str(value) if isinstance(value, str | int) else ""
    is_sound = len(text) <= 12 and text.isascii() and text.isdecimal()
    return float(text) if is_sound else None
