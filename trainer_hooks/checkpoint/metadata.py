"""Reading DCP's ``.metadata`` without running it.

The file is a pickle, and a pickle can name any function to call. This reader knows the classes
that an index of tensors is made of, and refuses everything else by name.
"""

import io
import os
import pickle
import pickletools
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta

from trainer_hooks.checkpoint.place import ObjectPlace, Place
from trainer_hooks.errors import CheckpointError

_KNOWN = {
    "torch.distributed.checkpoint.metadata": {
        "ChunkStorageMetadata",
        "Metadata",
        "MetadataIndex",
        "StorageMeta",
        "TensorProperties",
        "TensorStorageMetadata",
        "_MEM_FORMAT_ENCODING",
    },
    "torch.distributed.checkpoint.filesystem": {"_StorageInfo"},
    "torch.serialization": {"_get_layout"},
    "torch": {"Size"},
    "pathlib": {"PosixPath"},
}
"""Without BytesStorageMetadata: DCP would unpickle what it points to, and we save none."""


class _IndexUnpickler(pickle.Unpickler):
    """Finds what an index of tensors is made of, torch's dtypes, and nothing else."""

    def find_class(self, module: str, name: str, /) -> Any:  # noqa: ANN401 - the signature of pickle
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        if name not in _KNOWN.get(module, ()):
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)


class _BucketFileSystem(FileSystem):
    """What DCP reads shards through when they lie in a bucket: each piece when it is asked for."""

    def __init__(self, directory: ObjectPlace) -> None:
        self._directory = directory

    @contextmanager
    def create_stream(
        self, path: str | os.PathLike[str], mode: str
    ) -> Generator[io.IOBase, None, None]:
        with (self._directory / os.fspath(path)).open(mode) as stream:
            yield cast("io.IOBase", stream)


def _refuse_bomb(data: bytes) -> None:
    """Refuse a pickle that numbers an object higher than it has bytes.

    The unpickler makes room for as many as the number says: five bytes can take all the memory.
    """
    for opcode, argument, _ in pickletools.genops(data):
        if "PUT" in opcode.name and argument is not None and argument > len(data):
            raise pickle.UnpicklingError(f"it numbers an object {argument}")


class SafeReader(FileSystemReader):
    """DCP's file reader with a ``.metadata`` that cannot run anything."""

    def __init__(self, directory: Place) -> None:
        super().__init__("" if isinstance(directory, ObjectPlace) else directory)
        if isinstance(directory, ObjectPlace):
            self.fs: FileSystem = _BucketFileSystem(directory)
        self._directory = directory

    def read_metadata(self, *_: object, **__: object) -> Metadata:
        """Read the index. DCP calls it on the coordinator.

        Raises:
            CheckpointError: The file is damaged, or names something no index holds.
        """
        path = self._directory / ".metadata"
        try:
            with path.open("rb") as file:
                data = file.read()
            _refuse_bomb(data)
            metadata = _IndexUnpickler(io.BytesIO(data)).load()
        except Exception as error:  # what damage to a pickle raises is not to be foreseen
            raise CheckpointError(f"{path} is not an index of tensors: {error}") from error
        if not isinstance(metadata, Metadata):
            raise CheckpointError(
                f"{path} holds {type(metadata).__name__}, not an index of tensors"
            )
        metadata.storage_meta = metadata.storage_meta or StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata
