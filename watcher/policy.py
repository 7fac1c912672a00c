"""What each kind of notice means for the node: one literal table, nothing else.

A default window counts only where a notice has no deadline of its own. It is the shortest warning
known for the kind, so that a guess is never later than the truth.

A lead is how long before a deadline that is known well ahead the notice comes in force. It is
longer than a trainer needs to stop and commit, and shorter than a node should stand idle.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher.notice import Deadline, Notice, NoticeKind, Standing, Urgency


@dataclass(frozen=True, slots=True)
class Rule:
    """How urgent a kind is, how long it lasts by default, who acts on it and how far ahead.

    Both times are in seconds; without a lead a notice is in force as soon as it is heard.
    """

    urgency: Urgency
    default_window_s: float
    actions: tuple[str, ...]
    lead_s: float | None = None


_TELL = ("flag_file",)
_STOP_LOCAL = (*_TELL, "signal")
_STOP = (*_STOP_LOCAL, "node_mark", "cordon", "taint", "lb_exclusion", "drain")

POLICY: Mapping[NoticeKind, Rule] = MappingProxyType(
    {
        # 30 s: GCP Spot's and Azure Preempt's window, the shortest of the three clouds'.
        NoticeKind.PREEMPTION: Rule(Urgency.STOP, 30.0, _STOP),
        # 30 s and 2 h: the shortest and the longest heartbeat time-out of a lifecycle hook, which
        # waits for the node to be done.
        NoticeKind.TERMINATION: Rule(Urgency.STOP, 30.0, (*_STOP, "lifecycle_hook"), lead_s=7200.0),
        # 120 s: an interruptible capacity reservation; capacity blocks give 10 min and more.
        NoticeKind.CAPACITY_END: Rule(Urgency.STOP, 120.0, _STOP, lead_s=900.0),
        # 60 s: GCP host maintenance without a GPU; with one it is an hour. 15 min: time for several
        # saves, and a node that stands idle for no longer than its reboot will take.
        NoticeKind.MAINTENANCE: Rule(Urgency.STOP, 60.0, _STOP, lead_s=900.0),
        # 60 s: GCP's. 15 min: Azure's; a save brought forward days ahead is of no use.
        NoticeKind.LIVE_MIGRATION: Rule(Urgency.ADVISORY, 60.0, _TELL, lead_s=900.0),
        # 600 s: rebalance recommendations typically lead by 10 to 20 min.
        NoticeKind.REBALANCE: Rule(Urgency.ADVISORY, 600.0, _TELL),
        # 0 s: a retiring host may be dead by the time one is told. A day: its last two weeks are of
        # use with checkpoints, its last hours are a risk for everybody else in the job.
        NoticeKind.HARDWARE: Rule(Urgency.STOP, 0.0, _STOP, lead_s=86_400.0),
        # 600 s: nobody takes the node away; the trainers should only not linger on it.
        NoticeKind.NODE_REQUEST: Rule(Urgency.STOP, 600.0, _STOP),
        # 5 s: logind's default InhibitDelayMaxSec.
        NoticeKind.SHUTDOWN: Rule(Urgency.STOP, 5.0, _STOP),
        # 120 s: a drill rehearses the common case, AWS Spot. The Node is left alone.
        NoticeKind.DRILL: Rule(Urgency.STOP, 120.0, _STOP_LOCAL),
    }
)
"""Source: reference sheet on cloud reclaim contracts, sections 0 and 8 (read 2026-11-30)."""


def stand(notice: Notice) -> Standing:
    """Return the notice as it stands under the policy."""
    rule = POLICY[notice.kind]
    if notice.deadline is None:
        window = Deadline.after(notice.received, rule.default_window_s)
        return Standing(notice, rule.urgency, window)
    acts_from = None if rule.lead_s is None else notice.deadline.before(rule.lead_s)
    return Standing(notice, rule.urgency, notice.deadline, acts_from)
