"""What one rank has read of a checkpoint, before all load it together."""

from dataclasses import dataclass

import torch

from trainer_hooks.checkpoint.commit import CommitMarker
from trainer_hooks.checkpoint.index_check import refuse_outside
from trainer_hooks.checkpoint.kept import Kept
from trainer_hooks.checkpoint.latest import open_checkpoint
from trainer_hooks.checkpoint.metadata import SafeReader
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.rank_state import RankState, read_rank_state
from trainer_hooks.checkpoint.stages import part_of, state_of_part
from trainer_hooks.checkpoint.targets import targets
from trainer_hooks.state import TrainState, placing_of
from trainer_hooks.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A checkpoint that one rank is ready to load."""

    marker: CommitMarker
    shared: RankState
    """What is the same on all ranks that hold this rank's part of the model."""
    own: RankState | None
    """This rank's own, if the same number of ranks wrote the checkpoint."""
    stands_alike: bool
    """Whether this rank stands where that rank stood, as far as anybody has kept it."""
    part: frozenset[str]
    """Paths of the tensors of the model that this rank holds: all of them, or a stage's."""
    whole: frozenset[str]
    """Those of all stages together, as the index has them."""
    reader: SafeReader
    tensors: dict[str, torch.Tensor]
    """What to load into."""


def prepare(path: Place, state: TrainState, world: World, kept: Kept) -> Prepared:
    """Read what this rank reads alone. All ranks call it.

    Args:
        path: The checkpoint.
        state: What will be loaded into.
        world: The ranks.
        kept: What this rank has of the shards already.

    Raises:
        CheckpointError: Something cannot be read.
        StateError: The checkpoint is of another model.
    """
    checkpoint = open_checkpoint(path)
    same_world = checkpoint.marker.world_size == world.size
    own = read_rank_state(path, world.rank) if same_world else None
    ours = state.template()
    part = part_of(ours)
    shared = state_of_part(path, part, checkpoint.marker.world_size, world.rank)
    reader = SafeReader(path, kept)
    metadata = reader.read_metadata()
    refuse_outside(metadata, checkpoint.marker.files, path)
    index = metadata.state_dict_metadata
    return Prepared(
        marker=checkpoint.marker,
        shared=shared,
        own=own,
        stands_alike=own is None or own.placing in (None, placing_of(ours)),
        part=part,
        whole=part_of(index),
        reader=reader,
        tensors=targets(shared, ours, index),
    )
