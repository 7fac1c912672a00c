"""The load test: everything in a checkpoint is loaded once, on one CPU process.

A checkpoint that was never loaded is a hope. What wrote it, and how many, does not matter here.
"""

from collections.abc import Callable

from trainer_hooks.checkpoint.latest import Checkpoint
from trainer_hooks.checkpoint.rank_state import read_rank_state
from trainer_hooks.checkpoint.tensors import TensorIndex
from trainer_hooks.errors import CheckpointError
from trainer_hooks.leaves import tensor_paths


def load_all(checkpoint: Checkpoint, on_bytes: Callable[[int], object] = bool) -> None:
    """Load every rank's state and every tensor, and throw them away.

    Args:
        checkpoint: One whose digests are right.
        on_bytes: Told how many bytes of tensors have been loaded since the last time.

    Raises:
        CheckpointError: Something cannot be loaded, or its parts do not belong together.
    """
    marker, path = checkpoint.marker, checkpoint.path
    named: set[str] = set()
    for rank in range(marker.world_size):
        state = read_rank_state(path, rank)
        if (state.step, state.world_size) != (checkpoint.step, marker.world_size):
            raise CheckpointError(
                f"{path}: the state of rank {rank} is of step {state.step} and {state.world_size} "
                f"ranks, the marker of step {checkpoint.step} and {marker.world_size}"
            )
        named.update(tensor_paths(dict(state.leaves)))
    index = TensorIndex(checkpoint)
    if missing := sorted(named - set(index.tensors)):
        raise CheckpointError(f"{path}: the index lacks {len(missing)} tensors, first {missing[0]}")
    for batch in index.load(index.tensors):
        on_bytes(sum(tensor.nbytes for tensor in batch.values()))
