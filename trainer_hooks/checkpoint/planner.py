"""Which rank's copy of a replicated tensor is kept."""

from dataclasses import replace

from torch.distributed.checkpoint import DefaultSavePlanner
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import SavePlan

_OPTIMIZER_STATE = "optimizer.state."
_MODEL = "model."


class LowestRankBuffers(DefaultSavePlanner):
    """Spreads replicated parameters over the ranks, and takes buffers from the lowest one.

    DCP keeps any rank's copy of a tensor that several ranks have under one name, which is right
    where the copies are equal. Buffers are not: under DDP each rank's batch norm goes its own
    way, and rank 0's is sent to all at the next forward. What no optimizer state belongs to is
    taken for a buffer; a frozen parameter is then merely written by the lowest rank.
    """

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Drop the buffers that a lower rank writes too. DCP calls it on the coordinator."""
        trained = {
            item.index.fqn.removeprefix(_OPTIMIZER_STATE).rpartition(".")[0]
            for plan in all_plans
            for item in plan.items
            if item.index.fqn.startswith(_OPTIMIZER_STATE)
        }
        seen: set[object] = set()
        plans = []
        for plan in all_plans:
            items = [
                item
                for item in plan.items
                if not _is_buffer(item.index.fqn, trained) or item.index not in seen
            ]
            seen.update(item.index for item in items)
            plans.append(replace(plan, items=items))
        return super().create_global_plan(plans)


def _is_buffer(fqn: str, trained: set[str]) -> bool:
    return fqn.startswith(_MODEL) and fqn.removeprefix(_MODEL) not in trained
