"""Reading DCP's ``.metadata`` without running it.

The file is a pickle, and a pickle can name any function to call. This reader knows the classes
that an index of tensors is made of, and refuses everything else by name.
"""

import io
import pickle
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum, EnumType
from operator import itemgetter
from typing import IO, Any, cast

import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta
from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, ReadItem
from torch.futures import Future

from trainer_hooks.checkpoint.index_check import refuse_nonsense
from trainer_hooks.checkpoint.kept import Kept
from trainer_hooks.checkpoint.memo_bomb import refuse_memo_bomb
from trainer_hooks.checkpoint.place import ObjectPlace, Place
from trainer_hooks.checkpoint.shards import Item, Shards
from trainer_hooks.errors import CheckpointError
from trainer_hooks.untrusted import in_one_line

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
        if (module, name) == ("builtins", "getattr"):
            return _enum_member
        if name not in _KNOWN.get(module, ()):
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)


def _enum_member(owner: object, name: object) -> Enum:
    """Return a member of an enum; nothing else has an attribute that an index may name.

    An early Python 3.11 pickles every member as a call of getattr: 3.11.2, which is Debian 12's,
    does, and 3.11.7 does not (tried 2026-11-30).
    """
    if not isinstance(owner, EnumType) or not isinstance(name, str):
        raise pickle.UnpicklingError("it names builtins.getattr for no enum")
    if name not in owner.__members__:
        raise pickle.UnpicklingError(f"it names builtins.getattr for {name!r:.80}")
    member: Enum = owner.__members__[name]
    return member


class _NoFiles(FileSystem):
    """What DCP opens in vain where shards are no plain files."""

    @contextmanager
    def create_stream(self, *_: object) -> Generator[io.IOBase, None, None]:
        yield io.BytesIO()


class SafeReader(FileSystemReader):
    """DCP's file reader with a ``.metadata`` that cannot run anything, also in a bucket."""

    def __init__(self, directory: Place, kept: Kept | None = None) -> None:
        super().__init__("" if isinstance(directory, ObjectPlace) else directory)
        self._directory = directory
        self._kept = kept
        self._slices: Iterator[IO[bytes]] = iter(())
        self._index: Metadata | None = None

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Load this rank's part of the plan, whose shards are files, objects, or parts of them."""
        shards = Shards(self._directory, self._kept)
        if not shards.are_plain_files:
            self.fs: FileSystem = _NoFiles()
            # In the order in which DCP comes to them: shard by shard.
            wanted = sorted(((self._item(item), item) for item in plan.items), key=itemgetter(0))
            slices = shards.read(item for item, _ in wanted)
            self._slices = cast("Iterator[IO[bytes]]", slices)
            plan = replace(plan, items=[item for _, item in wanted])
        loaded: Future[None] = super().read_data(plan, planner)
        return loaded

    def _item(self, item: ReadItem) -> Item:
        info = self.storage_data[item.storage_index]
        return Item(info.relative_path, info.offset, info.length)

    def _slice_file(self, file: Any, sinfo: Any) -> IO[bytes]:  # noqa: ANN401 - DCP's own
        if isinstance(self.fs, _NoFiles):
            return next(self._slices)
        slice_: IO[bytes] = super()._slice_file(file, sinfo)
        return slice_

    def read_metadata(self, *_: object, **__: object) -> Metadata:
        """Return the index, read once. DCP calls it on every rank, for each load.

        Raises:
            CheckpointError: The file is damaged, or names something no index holds.
        """
        if self._index is None:
            self._index = _read_index(self._directory / ".metadata")
        self._index.storage_meta = self._index.storage_meta or StorageMeta()
        self._index.storage_meta.load_id = self.load_id
        return self._index


def _read_index(path: Place) -> Metadata:
    try:
        with path.open("rb") as file:
            data = file.read()
        refuse_memo_bomb(data)
        metadata = _IndexUnpickler(io.BytesIO(data)).load()
        if isinstance(metadata, Metadata):
            refuse_nonsense(metadata)
    except Exception as error:  # what damage to a pickle raises is not to be foreseen
        raise CheckpointError(
            f"{path} is not an index of tensors: {in_one_line(str(error))}"
        ) from error
    if not isinstance(metadata, Metadata):
        raise CheckpointError(f"{path} holds {type(metadata).__name__}, not an index of tensors")
    return metadata
