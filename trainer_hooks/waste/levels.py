"""Whether a second, quicker place for checkpoints pays: local disks, or a neighbour's memory."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoLevels:
    """How often to save to each of two levels, and what that costs to first order."""

    local_s: float
    durable_s: float
    overhead: float

    @property
    def is_local_useful(self) -> bool:
        """False where durable saves come at least as often: then nobody reads the local ones."""
        return self.local_s < self.durable_s


def two_levels(
    *, local_stall_s: float, soft_mtbi_s: float, durable_stall_s: float, hard_mtbi_s: float
) -> TwoLevels:
    """Return the intervals of a local level, lost with its node, and a durable one.

    Args:
        local_stall_s: What a local save costs.
        soft_mtbi_s: Between failures that leave the node: a process that crashes.
        durable_stall_s: What a durable save costs.
        hard_mtbi_s: Between failures that take the node, as every reclaim does.

    Source: S. Di, Y. Robert, F. Vivien, F. Cappello, "Toward an optimal online checkpoint solution
    under a two-level HPC checkpoint model", IEEE TPDS 28 (2017), first order (read 2026-11-30).
    """
    return TwoLevels(
        local_s=math.sqrt(2 * local_stall_s * soft_mtbi_s),
        durable_s=math.sqrt(2 * durable_stall_s * hard_mtbi_s),
        overhead=math.sqrt(2 * local_stall_s / soft_mtbi_s)
        + math.sqrt(2 * durable_stall_s / hard_mtbi_s),
    )


def pair_loss_probability(nodes: int, lost: int) -> float:
    """Return the chance that nodes which hold each other's replicas, in pairs, are lost together.

    Args:
        nodes: How many there are, an even number.
        lost: How many of them one event takes, any with the same chance.
    """
    pairs = nodes // 2
    if lost > pairs:
        return 1.0
    return 1 - (math.comb(pairs, lost) << lost) / math.comb(nodes, lost)
