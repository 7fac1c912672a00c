"""A model cut into stages, as a pipeline has it: whose state a rank takes, and that none is left.

What is no tensor is the same on all ranks, and rank 0's file holds it; but of a model's tensors
that names only those that rank 0 held. So a rank of another stage takes the file of a rank of its
own stage. Which tensors there are of all stages together, the index says.
"""

from collections.abc import Iterable

import xxhash

from trainer_hooks.checkpoint.place import Place
from trainer_hooks.checkpoint.rank_state import RankState, read_rank_state
from trainer_hooks.errors import StateError
from trainer_hooks.leaves import tensor_paths
from trainer_hooks.state import MODEL
from trainer_hooks.world import World

_NAMED = 3


def part_of(paths: Iterable[str]) -> frozenset[str]:
    """Return those of some tensors' paths that are the model's."""
    return frozenset(path for path in paths if path.startswith(MODEL))


def state_of_part(path: Place, part: frozenset[str], world_size: int, rank: int) -> RankState:
    """Return what a rank wrote that held this part of the model: rank 0 wherever it did.

    Args:
        path: The checkpoint.
        part: What this rank holds.
        world_size: How many ranks wrote it.
        rank: This one; it is asked before the others.

    Raises:
        CheckpointError: A state file cannot be read.
        StateError: The model was cut into stages, and none was this one.
    """
    first = read_rank_state(path, 0)
    if _held(first) == part:
        return first
    is_cut = False
    for other in sorted(range(1, world_size), key=lambda number: number != rank):
        state = read_rank_state(path, other)
        if _held(state) == part:
            return state
        is_cut = is_cut or _held(state) != _held(first)
    if is_cut:
        raise StateError(
            f"{path} holds a model that was cut into stages, and none of them is what this rank "
            f"holds ({_some(part)}): cut it at the same places, into stages of the same names"
        )
    return first  # another model, which is for ``restore`` to say in detail


def refuse_left_out(whole: frozenset[str], part: frozenset[str], world: World) -> None:
    """See that ranks together hold every tensor of the checkpoint's model. All ranks call it.

    Args:
        whole: What the checkpoint holds of a model.
        part: What this rank holds of one.
        world: The ranks.

    Raises:
        StateError: Some would be dropped without a word; on all ranks.
    """
    mark = xxhash.xxh3_128("\n".join(sorted(part)).encode()).digest()
    parts = [part] if len({*world.from_all(mark)}) == 1 else world.from_all(part)
    if left := whole.difference(*parts):
        raise StateError(
            f"the checkpoint's model has {len(left)} tensors that no rank holds here "
            f"({_some(left)}): a stage of the pipeline is missing, or this is another model"
        )


def _held(state: RankState) -> frozenset[str]:
    return frozenset(tensor_paths(state.leaves.get(MODEL.removesuffix("."))))


def _some(paths: Iterable[str]) -> str:
    names = sorted(path.removeprefix(MODEL) for path in paths)
    return ", ".join(names[:_NAMED]) + (" ..." if len(names) > _NAMED else "")
