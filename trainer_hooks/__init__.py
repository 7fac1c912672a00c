"""Stops all ranks of a PyTorch job at one step, commits a checkpoint, and resumes exactly.

The public names are loaded when they are first used: the commit protocol, the flag file and the
launcher's checks work without the seconds that importing torch takes.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer_hooks.accumulation import AccumulationPlan, plan_accumulation
    from trainer_hooks.agreement import StepAgreement
    from trainer_hooks.checkpoint.keep import Keep
    from trainer_hooks.checkpoint.latest import Checkpoint, latest_committed
    from trainer_hooks.checkpoint.saver import Checkpointer
    from trainer_hooks.data import ResumableSampler
    from trainer_hooks.health.guards import Health
    from trainer_hooks.hooks import TrainerHooks
    from trainer_hooks.launch.exit_codes import EXIT_PREEMPTED
    from trainer_hooks.micro_batches import MicroBatches
    from trainer_hooks.of_each_rank import OfEachRank
    from trainer_hooks.order import WeightedShards, WholeBatches
    from trainer_hooks.outcome import RunOutcome
    from trainer_hooks.save_rules import LocalSaves
    from trainer_hooks.state import TrainState
    from trainer_hooks.stop import StopListener
    from trainer_hooks.waste.auto import AutoInterval

__all__ = [
    "EXIT_PREEMPTED",
    "AccumulationPlan",
    "AutoInterval",
    "Checkpoint",
    "Checkpointer",
    "Health",
    "Keep",
    "LocalSaves",
    "MicroBatches",
    "OfEachRank",
    "ResumableSampler",
    "RunOutcome",
    "StepAgreement",
    "StopListener",
    "TrainState",
    "TrainerHooks",
    "WeightedShards",
    "WholeBatches",
    "latest_committed",
    "plan_accumulation",
]

_HOMES = {
    "EXIT_PREEMPTED": "trainer_hooks.launch.exit_codes",
    "AccumulationPlan": "trainer_hooks.accumulation",
    "AutoInterval": "trainer_hooks.waste.auto",
    "Checkpoint": "trainer_hooks.checkpoint.latest",
    "Checkpointer": "trainer_hooks.checkpoint.saver",
    "Health": "trainer_hooks.health.guards",
    "Keep": "trainer_hooks.checkpoint.keep",
    "LocalSaves": "trainer_hooks.save_rules",
    "MicroBatches": "trainer_hooks.micro_batches",
    "OfEachRank": "trainer_hooks.of_each_rank",
    "ResumableSampler": "trainer_hooks.data",
    "RunOutcome": "trainer_hooks.outcome",
    "StepAgreement": "trainer_hooks.agreement",
    "StopListener": "trainer_hooks.stop",
    "TrainState": "trainer_hooks.state",
    "TrainerHooks": "trainer_hooks.hooks",
    "WeightedShards": "trainer_hooks.order",
    "WholeBatches": "trainer_hooks.order",
    "latest_committed": "trainer_hooks.checkpoint.latest",
    "plan_accumulation": "trainer_hooks.accumulation",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_HOMES[name]), name)
