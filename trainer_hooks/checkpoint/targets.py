"""What each tensor of a checkpoint is loaded into."""

from collections.abc import Mapping

import torch
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from trainer_hooks.checkpoint.rank_state import RankState
from trainer_hooks.errors import CheckpointError, StateError
from trainer_hooks.leaves import tensor_paths


def targets(
    shared: RankState, ours: Mapping[str, torch.Tensor], index: Mapping[str, object]
) -> dict[str, torch.Tensor]:
    """Return what to load each tensor of the checkpoint into.

    The state's own tensor, or a new one where the state makes its own later (an average before
    its first update). What only the state has is left alone: a parameter that no loss reached has
    no optimizer state to load.

    Raises:
        StateError: A tensor has another shape or dtype there: it is another model's checkpoint.
        CheckpointError: The index lacks a tensor.
    """
    named = list(tensor_paths(dict(shared.leaves)))
    for path in named:
        entry = index.get(path)
        if path in ours and isinstance(entry, TensorStorageMetadata):
            _refuse_misfit(path, entry, ours[path])
    return {path: ours[path] if path in ours else _new(path, index) for path in named}


def _refuse_misfit(path: str, entry: TensorStorageMetadata, ours: torch.Tensor) -> None:
    if entry.size != ours.size():
        raise StateError(
            f"{path} has shape {tuple(entry.size)} in the checkpoint and {tuple(ours.size())} "
            "here: this is another model"
        )
    if entry.properties.dtype != ours.dtype:  # DCP would convert it, and say nothing
        raise StateError(
            f"{path} is {entry.properties.dtype} in the checkpoint and {ours.dtype} here: build "
            "the model and its optimizer in the precision that they had"
        )


def _new(path: str, index: Mapping[str, object]) -> torch.Tensor:
    match index.get(path):
        case TensorStorageMetadata(size=size, properties=properties):
            return torch.empty(size, dtype=properties.dtype)
    raise CheckpointError(f"the index holds no tensor {path}")
