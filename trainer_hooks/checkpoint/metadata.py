"""Reading DCP's ``.metadata`` without running it.

The file is a pickle, and a pickle can name any function to call. This reader knows the classes
that an index of tensors is made of, and refuses everything else by name.
"""

import pickle
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta

from trainer_hooks.errors import CheckpointError

_KNOWN_MODULES = (
    "torch.distributed.checkpoint.metadata",
    "torch.distributed.checkpoint.filesystem",
)
_KNOWN_NAMES = {
    ("torch", "Size"),
    ("torch", "device"),
    ("torch.serialization", "_get_layout"),
    ("torch.distributed._shard.sharding_spec", "ChunkShardingSpec"),
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
}


class _IndexUnpickler(pickle.Unpickler):
    """Finds classes of DCP's index, torch dtypes, and nothing that could act."""

    def find_class(self, module: str, name: str, /) -> Any:  # noqa: ANN401 - the signature of pickle
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        is_plain_class = module in _KNOWN_MODULES and name.isidentifier()
        if not (is_plain_class or (module, name) in _KNOWN_NAMES):
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        found = super().find_class(module, name)
        if is_plain_class and not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} is not a class")
        return found


class SafeReader(FileSystemReader):
    """DCP's file reader with a ``.metadata`` that cannot run anything."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._directory = directory

    def read_metadata(self, *_: object, **__: object) -> Metadata:
        """Read the index. DCP calls it on the coordinator.

        Raises:
            CheckpointError: The file is damaged, or names something no index holds.
        """
        path = self._directory / ".metadata"
        try:
            with path.open("rb") as file:
                metadata = _IndexUnpickler(file).load()
        except (OSError, ValueError, EOFError, AttributeError, pickle.UnpicklingError) as error:
            raise CheckpointError(f"{path} is not an index of tensors: {error}") from error
        if not isinstance(metadata, Metadata):
            raise CheckpointError(
                f"{path} holds {type(metadata).__name__}, not an index of tensors"
            )
        metadata.storage_meta = metadata.storage_meta or StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata
