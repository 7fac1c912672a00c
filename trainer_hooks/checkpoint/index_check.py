"""Seeing that an index of tensors makes sense, before memory is taken or a file opened by it.

Its digest shows that nobody has changed it since, and not who wrote it: an index may name a tensor
of a petabyte, or a file of somebody else's.
"""

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from math import prod
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)

from trainer_hooks.checkpoint.manifest import FileEntry
from trainer_hooks.checkpoint.parts import whole_name
from trainer_hooks.errors import CheckpointError
from trainer_hooks.untrusted import in_one_line


def refuse_nonsense(metadata: Metadata) -> None:
    """See that each tensor is as large as its pieces, and no piece larger than what is stored.

    Raises:
        ValueError: One is not; or, as any other exception, it is made of other things.
    """
    stored: Mapping[object, Any] = metadata.storage_data
    for at in stored.values():
        _require(isinstance(at, _StorageInfo) and isinstance(at.relative_path, str), "a place")
        _require(_are_counts((at.offset, at.length)), "a place")
    tensors: Mapping[Any, Any] = metadata.state_dict_metadata
    for name, tensor in tensors.items():
        _require(isinstance(name, str) and isinstance(tensor, TensorStorageMetadata), repr(name))
        _require(prod(tensor.size) <= _elements_held(name, tensor, stored), repr(name))


def refuse_outside(metadata: Metadata, files: Iterable[FileEntry], path: object) -> None:
    """See that the index of a checkpoint points into its own files.

    Raises:
        CheckpointError: It points elsewhere.
    """
    sizes: dict[str, int] = {}
    for entry in files:
        whole = whole_name(entry.name)
        sizes[whole] = sizes.get(whole, 0) + entry.size
    for at in metadata.storage_data.values():
        if at.relative_path not in sizes:
            named = in_one_line(at.relative_path)
            raise CheckpointError(f"{path}: the index points to {named}, no file of its own")
        if at.offset + at.length > sizes[at.relative_path]:
            raise CheckpointError(f"{path}: the index points behind the end of {at.relative_path}")


def _elements_held(name: str, tensor: TensorStorageMetadata, stored: Mapping[object, Any]) -> int:
    """Return how many elements of a tensor its pieces hold, all of them within it and stored."""
    dtype: Any = tensor.properties.dtype
    _require(isinstance(dtype, torch.dtype) and _are_counts(tensor.size), repr(name))
    held = 0
    for piece in tensor.chunks:
        _require(_are_counts((*piece.offsets, *piece.sizes)), repr(name))
        sides = zip_longest(piece.offsets, piece.sizes, tensor.size)
        _require(all(offset + size <= of for offset, size, of in sides), repr(name))
        elements = prod(piece.sizes)
        if elements:
            length = stored[MetadataIndex(name, piece.offsets)].length
            _require(elements * dtype.itemsize <= length, repr(name))
        held += elements
    return held


def _are_counts(numbers: Iterable[object]) -> bool:
    return all(isinstance(number, int) and number >= 0 for number in numbers)


def _require(holds: bool, what: str) -> None:  # noqa: FBT001 - as an assert that stays under -O
    if not holds:
        raise ValueError(f"{what} makes no sense in it")
