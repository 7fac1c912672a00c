"""Where what a rank holds lies in the tensors of the job: the ranks around it, and the pieces.

What one rank alone has kept, its random numbers and its local saves, is its own only for as long as
it stands where it stood. After a restart it may hold other pieces of the same shapes: a mesh of
((0, 1), (2, 3)) that has become ((0, 2), (1, 3)) changes neither a shape nor a count.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
import xxhash
from torch.distributed.tensor import DTensor

from trainer_hooks.untrusted import Json


def meshes_of(tensors: Iterable[torch.Tensor]) -> list[Json]:
    """Return how the ranks stand that tensors are spread over; nothing where they are not spread.

    Each mesh is named by its shape and a digest of its table of ranks, once, in order: each of
    ten thousand ranks keeps it with every save.
    """
    return [*sorted({*_names(tensors).values()})]


def pieces_of(tensors: Mapping[str, torch.Tensor]) -> dict[str, Json]:
    """Return which piece of each tensor this rank holds, by path: of what, how split, over whom.

    The same words on the same rank are the same piece. Other words may be, too: nobody asks torch
    for the numbers of each, which would take a hundred times as long at every save.
    """
    names = _names(tensors.values())
    return {
        path: f"{list(one.shape)} {one.placements} over {names[id(one.device_mesh)]}"
        if isinstance(one, DTensor)
        else f"{list(one.shape)}"
        for path, one in tensors.items()
    }


def piece_of(tensor: torch.Tensor) -> str:
    """Return which piece of a tensor this rank holds, as a checkpoint numbers them."""
    if not isinstance(tensor, DTensor):
        return "whole"
    chunks: Any = tensor.__create_chunk_list__()  # type: ignore[no-untyped-call]  # torch's own
    return str([(chunk.offsets, chunk.sizes) for chunk in chunks])


def _names(tensors: Iterable[torch.Tensor]) -> dict[int, str]:
    """Return the name of each mesh there is, by its identity: to compare meshes is dear."""
    spread = (one for one in tensors if isinstance(one, DTensor))
    tables = {id(one.device_mesh): one.device_mesh.mesh for one in spread}
    return {key: _name(table) for key, table in tables.items()}


def _name(table: torch.Tensor) -> str:
    digest = xxhash.xxh3_64_hexdigest(str(table.tolist()).encode())
    return f"{'x'.join(map(str, table.shape))} ranks {digest}"
