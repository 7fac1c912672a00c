"""What each metadata key's answers come to: which are news, and what takes a notice back.

One state a key, so that "no" to one question is never taken for "no" to another. What is seen to
change has its full window; what is there at the first look, or after a gap, may have been there for
a while, and gets the shortest that there is.
"""

from dataclasses import replace

from watcher.httpclient import Answer
from watcher.notice import Moment, Notice
from watcher.sources.gcp_preemption import (
    EVENT,
    PREEMPTED,
    parse_maintenance_event,
    parse_preempted,
)
from watcher.sources.gcp_session import refusal
from watcher.sources.gcp_upcoming import UPCOMING, parse_upcoming_maintenance
from watcher.sources.gcp_vm import GcpVm
from watcher.sources.gcp_windows import (
    EVENT_WINDOW_S,
    PREEMPTION_WINDOW_S,
    event_window_s,
    preemption_window_s,
)
from watcher.sources.lane import NOTHING, Sight
from watcher.sources.level import Level, withdrawal

LOOKS_TO_WITHDRAW = 2
"""Consecutive answers without a maintenance before the one announced is over."""

HIDDEN = (
    "every VM of Compute Engine's has this key, so something stands in for its metadata server; "
    "GKE does so where Workload Identity is on: the pod needs hostNetwork"
)


class Preempted:
    """``instance/preempted``: a notice while it says TRUE.

    Google never takes a preemption back, so a FALSE after it is only an absence.
    """

    def __init__(self, vm: GcpVm, standing: Notice | None) -> None:
        self._vm = vm
        self._level = Level(standing)

    def answered(self, answer: Answer, now: Moment, *, is_fresh: bool) -> Sight:
        """Take in an answer.

        Raises:
            SourceError: It is no answer to this question.
        """
        if answer.status != 200:
            raise refusal(answer.status, PREEMPTED, HIDDEN)
        window_s = preemption_window_s(self._vm.notice_s) if is_fresh else PREEMPTION_WINDOW_S
        notice = parse_preempted(answer.body, now, self._vm.id, window_s=window_s)
        if notice is None:
            return Sight("absent", self._level.absent(now))
        return Sight("present", self._level.present(notice))

    def unknown(self) -> None:
        """Take in a failed fetch."""
        self._level.unknown()


class MaintenanceEvent:
    """``instance/maintenance-event``: a notice while it says what will be done.

    NONE is Google's word that the event is over. A 404 is not: VMs without GPUs that do not migrate
    may have no such key.

    Args:
        vm: Tells a preemption from a maintenance, and a VM with GPUs.
        standing: The notice that an earlier run has left in force.
        window_s: How long ahead an event is announced, where that was set.
    """

    def __init__(self, vm: GcpVm, standing: Notice | None, window_s: float | None = None) -> None:
        self._vm = vm
        self._level = Level(standing)
        self._window_s = window_s

    def answered(self, answer: Answer, now: Moment, *, is_fresh: bool) -> Sight:
        """Take in an answer.

        Raises:
            SourceError: It is no answer to this question.
        """
        if answer.status == 404:
            return NOTHING
        if answer.status != 200:
            raise refusal(answer.status, EVENT)
        notice = parse_maintenance_event(
            answer.body,
            now,
            self._vm.id,
            is_preemptible=self._vm.is_preemptible,
            window_s=self._counted_s(is_fresh=is_fresh),
        )
        if notice is None:
            return Sight("absent", self._level.over())
        return Sight("present", self._level.present(notice))

    def unknown(self) -> None:
        """Take in a failed fetch."""
        self._level.unknown()

    def _counted_s(self, *, is_fresh: bool) -> float:
        if self._vm.is_preemptible is not False:
            return PREEMPTION_WINDOW_S
        if not is_fresh:
            return EVENT_WINDOW_S
        return self._window_s or event_window_s(self._vm.machine_type)


class UpcomingMaintenance:
    """``instance/upcoming-maintenance``: a notice while a document is there.

    The document is replaced when the maintenance is put off or brought forward. A 404 and the error
    "not yet" say that there is nothing, and withdraw nothing.
    """

    def __init__(self, vm: GcpVm, standing: Notice | None) -> None:
        self._vm = vm
        self._standing = standing
        self._absences = 0

    def answered(self, answer: Answer, now: Moment, *, is_fresh: bool) -> Sight:  # noqa: ARG002 - it states its own time
        """Take in an answer.

        Raises:
            SourceMalformed: It is neither a maintenance nor a known way to say that there is none.
        """
        if answer.status != 200:
            return NOTHING
        notice = parse_upcoming_maintenance(
            answer.body, now, self._vm.id, does_migrate=self._vm.does_migrate
        )
        if notice is None:
            return Sight("absent", self._absent())
        return Sight("present", self._present(notice))

    def unknown(self) -> None:
        """Take in a failed fetch: it ends nothing and breaks a run of absences."""
        self._absences = 0

    def _absent(self) -> list[Notice]:
        self._absences += 1
        old = self._standing
        if old is None or self._absences < LOOKS_TO_WITHDRAW:
            return []
        self._standing = None
        return [withdrawal(old, "over")]

    def _present(self, seen: Notice) -> list[Notice]:
        self._absences = 0
        old, self._standing = self._standing, seen
        if old is None:
            return [seen]
        if _fact(seen) != _fact(old):
            return [seen, withdrawal(old, "replaced")]
        # The first one's id stays whatever is learnt later.
        is_earlier = seen.deadline and old.deadline and seen.deadline.corrects(old.deadline)
        self._standing = replace(seen, id=old.id) if is_earlier else old
        return [self._standing] if is_earlier else []


FollowedKeys = tuple[Preempted, MaintenanceEvent, UpcomingMaintenance]


def followed_keys(
    vm: GcpVm, adopted: tuple[Notice, ...], event_notice_s: float | None = None
) -> FollowedKeys:
    """Return the states of the three keys, each with what an earlier run has heard from it."""
    left = {notice.detail.get("key"): notice for notice in adopted}
    return (
        Preempted(vm, left.get(PREEMPTED)),
        MaintenanceEvent(vm, left.get(EVENT), event_notice_s),
        UpcomingMaintenance(vm, left.get(UPCOMING)),
    )


def _fact(notice: Notice) -> tuple[object, ...]:
    """Return what makes two documents one announcement: the kind of work and its start."""
    return notice.kind, notice.action, notice.detail.get("windowStartTime")
