"""What a Node shows when it is about to go, as clouds and controllers mark it: a literal table.

What is not in it says nothing: a cordon is anybody's, a label such as gke-spot says what a node is
and not that it goes, and our own taint and condition would come back as a notice of the notice.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from watcher.notice import NoticeKind
from watcher.sources.azure_times import instant
from watcher.sources.times import plausible, rfc3339_instant

KUBERNETES_NODE = "kubernetes_node"
"""The source that hears what is on the Node."""


class Place(StrEnum):
    """Where on a Node a mark is."""

    TAINT = "taint"
    LABEL = "label"
    CONDITION = "condition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One hard taint, label or condition that is there."""

    place: Place
    key: str
    value: str
    """A taint's or label's value, or a condition's status."""
    message: str = ""
    since: str = ""
    """When a condition has become so."""


Due = Callable[[Mark], datetime | None]
"""Reads from a mark when it comes true; None where that can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a mark means."""

    place: Place
    key: str
    kind: NoticeKind
    values: Collection[str] = ()
    """One of which it has; any where there are none."""
    says: str = ""
    """What the message of a condition contains."""
    due: Due | None = None
    """None where it never says when."""


def _epoch(mark: Mark) -> datetime | None:
    if not (mark.value.isascii() and mark.value.isdecimal() and len(mark.value) <= 11):
        return None
    return plausible(datetime.fromtimestamp(int(mark.value), UTC))


def _azure_time(mark: Mark) -> datetime | None:
    """Read ``Preempt Scheduled: Wed, 26 Feb 2025 10:13:13 GMT. DurationInSeconds: -1. ...``."""
    _, _, said = mark.message.partition("Scheduled: ")
    return instant(said.partition(". ")[0].rstrip("."))


def _repaired(mark: Mark) -> datetime | None:
    since = rfc3339_instant(mark.since)
    return None if since is None else since + timedelta(seconds=_EKS_REPAIR_S)


_EKS_REPAIR_S = 600.0
"""How long EKS waits before it replaces or reboots a node without its accelerators, in seconds.
Source: EKS user guide, "Enable node auto repair" (read 2026-11-30)."""

_NTH = "aws-node-termination-handler/"


def _taint(key: str, kind: NoticeKind, *values: str) -> Row:
    return Row(place=Place.TAINT, key=key, kind=kind, values=values)


def _label(key: str, kind: NoticeKind, *values: str, due: Due | None = None) -> Row:
    return Row(place=Place.LABEL, key=key, kind=kind, values=values, due=due)


def _azure(key: str, kind: NoticeKind, says: str = "") -> Row:
    place = Place.CONDITION
    return Row(place=place, key=key, kind=kind, values=("True",), says=says, due=_azure_time)


ROWS: tuple[Row, ...] = (
    # Karpenter, whatever its reason: since v1, and in v1beta1. Source: its documentation,
    # "Disruption" and "v1 migration" (read 2026-11-30).
    _taint("karpenter.sh/disrupted", NoticeKind.TERMINATION),
    _taint("karpenter.sh/disruption", NoticeKind.TERMINATION, "disrupting"),
    # Cluster autoscaler. Source: its FAQ (read 2026-11-30). The value is when it was put there.
    _taint("ToBeDeletedByClusterAutoscaler", NoticeKind.TERMINATION),
    # GKE. Source: its documentation, "Spot VMs" and "Manage disruption to GPU and TPU nodes"
    # (read 2026-11-30). The time is in seconds since 1970.
    _taint("cloud.google.com/impending-node-termination", NoticeKind.PREEMPTION),
    _label("cloud.google.com/active-node-maintenance", NoticeKind.MAINTENANCE, "ONGOING"),
    _label("cloud.google.com/scheduled-maintenance-time", NoticeKind.MAINTENANCE, due=_epoch),
    # EKS: what the AWS node termination handler puts there, and what node auto repair waits for.
    # Source: aws-node-termination-handler, pkg/node/node.go; EKS user guide (read 2026-11-30).
    _taint(_NTH + "spot-itn", NoticeKind.PREEMPTION),
    _taint(_NTH + "scheduled-maintenance", NoticeKind.MAINTENANCE),
    _taint(_NTH + "asg-lifecycle-termination", NoticeKind.TERMINATION),
    _taint(_NTH + "rebalance-recommendation", NoticeKind.REBALANCE),
    Row(
        place=Place.CONDITION,
        key="AcceleratedHardwareReady",
        kind=NoticeKind.HARDWARE,
        values=("False",),
        due=_repaired,
    ),
    # AKS: its drain, and its node problem detector, which tells each of Azure's Scheduled Events
    # twice. Source: AKS documentation, "Node auto-drain" and "Node Problem Detector" (read
    # 2026-11-30). What nobody has documented is advice, as it is to the source azure_events.
    _taint("remediator.kubernetes.azure.com/unschedulable", NoticeKind.TERMINATION),
    _azure("PreemptionScheduled", NoticeKind.PREEMPTION),
    _azure("TerminateScheduled", NoticeKind.TERMINATION),
    _azure("RebootScheduled", NoticeKind.MAINTENANCE),
    _azure("RedeployScheduled", NoticeKind.MAINTENANCE),
    _azure("FreezeScheduled", NoticeKind.LIVE_MIGRATION),
    _azure("VMEventScheduled", NoticeKind.PREEMPTION, "Preempt Scheduled"),
    _azure("VMEventScheduled", NoticeKind.TERMINATION, "Terminate Scheduled"),
    _azure("VMEventScheduled", NoticeKind.MAINTENANCE, "Reboot Scheduled"),
    _azure("VMEventScheduled", NoticeKind.MAINTENANCE, "Redeploy Scheduled"),
    _azure("VMEventScheduled", NoticeKind.LIVE_MIGRATION, "Freeze Scheduled"),
    _azure("VMEventScheduled", NoticeKind.REBALANCE),
    # SageMaker HyperPod. Source: its documentation, "Kubernetes node labels" (read 2026-11-30).
    _label(
        "sagemaker.amazonaws.com/node-health-status",
        NoticeKind.HARDWARE,
        "UnschedulablePendingReplacement",
        "UnschedulablePendingReboot",
    ),
    # CoreWeave. Source: CKS documentation, "Spot instances" (read 2026-11-30).
    _label("qos.coreweave.cloud/pending-preemption", NoticeKind.PREEMPTION, "true"),
    # The kubelet, where graceful node shutdown is set up. Source: Kubernetes documentation, "Node
    # shutdowns" (read 2026-11-30).
    Row(
        place=Place.CONDITION,
        key="Ready",
        kind=NoticeKind.SHUTDOWN,
        values=("False",),
        says="node is shutting down",
    ),
)
"""Every mark that means that the Node is going; the first row that fits a mark is its meaning."""


def row_of(mark: Mark) -> Row | None:
    """Return what a mark means; None where that is nothing."""
    for row in ROWS:
        is_it = (row.place, row.key) == (mark.place, mark.key)
        if is_it and row.says in mark.message and (not row.values or mark.value in row.values):
            return row
    return None
