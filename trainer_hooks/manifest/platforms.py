"""What each kind of cluster calls its Spot nodes, and how long they live after a notice.

Sources: the documentation of EKS, Karpenter, GKE and AKS about Spot nodes (read 2026-11-30).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

DETECTION_S = 5
"""What passes from a cloud's notice to the SIGTERM of a pod; out of the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A kind of cluster."""

    name: str
    window_s: int
    """Seconds that an ordinary pod has at the most, from the notice to the end of its node."""
    grace_s: int
    """Of these, what a pod can be promised from its SIGTERM on."""
    spot: Mapping[str, str] = field(default_factory=dict)
    """The label of a Spot node."""
    on_demand: Mapping[str, str] = field(default_factory=dict)
    """The label of a node that is not; empty if only the absence of the other tells."""
    is_tainted: bool = False
    """Whether Spot nodes carry their label as a taint, NoSchedule, too."""

    @property
    def tolerations(self) -> list[dict[str, str]]:
        """What a pod needs to get onto a Spot node."""
        if not self.is_tainted:
            return []
        return [
            {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}
            for key, value in self.spot.items()
        ]


PLATFORMS = {
    platform.name: platform
    for platform in (
        Platform(
            name="eks",  # managed node groups: 120 s, and no taint
            window_s=120,
            grace_s=120 - DETECTION_S,
            spot={"eks.amazonaws.com/capacityType": "SPOT"},
            on_demand={"eks.amazonaws.com/capacityType": "ON_DEMAND"},
        ),
        Platform(
            name="karpenter",  # on AWS
            window_s=120,
            grace_s=120 - DETECTION_S,
            spot={"karpenter.sh/capacity-type": "spot"},
            on_demand={"karpenter.sh/capacity-type": "on-demand"},
        ),
        Platform(
            name="gke",  # of 30 s the kubelet keeps 15 for critical pods; counted from the SIGTERM
            window_s=15,
            grace_s=15,
            spot={"cloud.google.com/gke-spot": "true"},
            is_tainted=True,
        ),
        Platform(
            name="aks",  # at least 30 s, best effort
            window_s=30,
            grace_s=30 - DETECTION_S,
            spot={"kubernetes.azure.com/scalesetpriority": "spot"},
            is_tainted=True,
        ),
        Platform(name="other", window_s=30, grace_s=30),  # what every pod has if nobody says
    )
}
"""By the name that ``--cloud`` takes."""
