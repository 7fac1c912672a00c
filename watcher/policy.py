"""What each kind of notice means for the node: one literal table, nothing else.

A default window counts only where a notice has no deadline of its own. It is the shortest warning
known for the kind, so that a guess is never later than the truth.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher.notice import Deadline, Notice, NoticeKind, Standing, Urgency


@dataclass(frozen=True, slots=True)
class Rule:
    """How urgent a kind is, how long it lasts by default (seconds), and who acts on it."""

    urgency: Urgency
    default_window_s: float
    actions: tuple[str, ...]


_STOP = ("flag_file", "signal")
_TELL = ("flag_file",)

POLICY: Mapping[NoticeKind, Rule] = MappingProxyType(
    {
        # 30 s: GCP Spot's and Azure Preempt's window, the shortest of the three clouds'.
        NoticeKind.PREEMPTION: Rule(Urgency.STOP, 30.0, _STOP),
        # 30 s: the shortest heartbeat time-out of an auto-scaling lifecycle hook.
        NoticeKind.TERMINATION: Rule(Urgency.STOP, 30.0, _STOP),
        # 120 s: an interruptible capacity reservation; capacity blocks give 10 min and more.
        NoticeKind.CAPACITY_END: Rule(Urgency.STOP, 120.0, _STOP),
        # 60 s: GCP host maintenance without a GPU; with one it is an hour.
        NoticeKind.MAINTENANCE: Rule(Urgency.STOP, 60.0, _STOP),
        NoticeKind.LIVE_MIGRATION: Rule(Urgency.ADVISORY, 60.0, _TELL),
        # 600 s: rebalance recommendations typically lead by 10 to 20 min.
        NoticeKind.REBALANCE: Rule(Urgency.ADVISORY, 600.0, _TELL),
        # 0 s: a retiring host may be dead by the time one is told.
        NoticeKind.HARDWARE: Rule(Urgency.STOP, 0.0, _STOP),
        # 600 s: nobody takes the node away; the trainers should only not linger on it.
        NoticeKind.NODE_REQUEST: Rule(Urgency.STOP, 600.0, _STOP),
        # 5 s: logind's default InhibitDelayMaxSec.
        NoticeKind.SHUTDOWN: Rule(Urgency.STOP, 5.0, _STOP),
        # 120 s: a drill rehearses the common case, AWS Spot.
        NoticeKind.DRILL: Rule(Urgency.STOP, 120.0, _STOP),
    }
)
"""Source: reference sheet on cloud reclaim contracts, sections 0 and 8 (read 2026-11-30)."""


def stand(notice: Notice) -> Standing:
    """Return the notice as it stands under the policy."""
    rule = POLICY[notice.kind]
    deadline = notice.deadline or Deadline.after(notice.received, rule.default_window_s)
    return Standing(notice, rule.urgency, deadline)
