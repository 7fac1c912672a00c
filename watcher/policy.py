"""What each kind of notice means for the node: one literal table, nothing else.

A default window counts only where a notice has no deadline of its own. It is the shortest warning
known for the kind, so that a guess is never later than the truth.

A lead is how long before a deadline that is known well ahead the notice comes in force. It is
longer than a trainer needs to stop and commit, and shorter than a node should stand idle.

What settings make of the table is another one of the same type, which those who decide are given.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from watcher.notice import Deadline, Moment, Notice, NoticeKind, Standing, Urgency


@dataclass(frozen=True, slots=True)
class Rule:
    """How urgent a kind is, how long it lasts by default, who acts on it and how far ahead.

    All times are in seconds; without a lead a notice is in force as soon as it is heard.
    """

    urgency: Urgency
    default_window_s: float
    actions: tuple[str, ...]
    lead_s: float | None = None
    expires_s: float | None = None
    """How long what is done to the Node stays, if it is done at all; None: until withdrawn."""


Policy = Mapping[NoticeKind, Rule]
"""A rule for every kind."""

_ASIDE = ("webhook", "run_command")
"""Those that nobody waits for, and that are off by default: people want to hear of everything."""
_TELL = ("flag_file", *_ASIDE)
_STOP_LOCAL = ("flag_file", "signal", *_ASIDE)
_ON_NODE = ("node_mark", "cordon", "taint", "lb_exclusion", "drain", "no_execute")
_STOP = ("flag_file", "signal", *_ON_NODE, *_ASIDE)

POLICY: Policy = MappingProxyType(
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
        # 60 s: GCP's. 15 min: Azure's; a save brought forward days ahead is of no use. An hour, as
        # below: the node is the same after it.
        NoticeKind.LIVE_MIGRATION: Rule(
            Urgency.ADVISORY, 60.0, _TELL, lead_s=900.0, expires_s=3600.0
        ),
        # 600 s: rebalance recommendations typically lead by 10 to 20 min. An hour: the metadata
        # service never takes one back, and a node that still stands then was not taken.
        NoticeKind.REBALANCE: Rule(Urgency.ADVISORY, 600.0, _TELL, expires_s=3600.0),
        # 0 s: a retiring host may be dead by the time one is told. A day: its last two weeks are of
        # use with checkpoints, its last hours are a risk for everybody else in the job.
        NoticeKind.HARDWARE: Rule(Urgency.STOP, 0.0, _STOP, lead_s=86_400.0),
        # 600 s: nobody takes the node away; the trainers should only not linger on it.
        NoticeKind.NODE_REQUEST: Rule(Urgency.STOP, 600.0, (*_STOP, "node_replacement")),
        # 5 s: logind's default InhibitDelayMaxSec.
        NoticeKind.SHUTDOWN: Rule(Urgency.STOP, 5.0, _STOP),
        # 120 s: a drill rehearses the common case, AWS Spot. The Node is left alone.
        NoticeKind.DRILL: Rule(Urgency.STOP, 120.0, _STOP_LOCAL),
    }
)
"""Source: reference sheet on cloud reclaim contracts, sections 0 and 8 (read 2026-11-30)."""


def stand(notice: Notice, policy: Policy = POLICY) -> Standing:
    """Return the notice as it stands under a policy."""
    rule = policy[notice.kind]
    deadline = notice.deadline or Deadline.after(notice.received, rule.default_window_s)
    acts_from = None
    if notice.deadline is not None and rule.lead_s is not None:
        acts_from = notice.deadline.before(rule.lead_s)
    return Standing(notice, rule.urgency, deadline, acts_from, _expires(notice, rule, acts_from))


def _expires(notice: Notice, rule: Rule, acts_from: Moment | None) -> Deadline | None:
    if rule.expires_s is None:
        return None
    begins = notice.received
    if acts_from is not None and acts_from.boottime_s > begins.boottime_s:
        begins = acts_from
    return Deadline.after(begins, rule.expires_s)
