"""A checkpoint's tensors on one CPU process, however many ranks wrote them, and a few at a time."""

import warnings
from collections.abc import Iterable, Iterator

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import CheckpointException
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from trainer_hooks.checkpoint.cause import root_cause
from trainer_hooks.checkpoint.index_check import refuse_outside
from trainer_hooks.checkpoint.latest import Checkpoint
from trainer_hooks.checkpoint.metadata import SafeReader
from trainer_hooks.errors import CheckpointError

_AT_ONCE_BYTES = 512 * 1024 * 1024
"""A model need not fit into the memory of the machine that looks at it; its largest tensor must."""


class TensorIndex:
    """What tensors a checkpoint holds.

    Raises:
        CheckpointError: The index is damaged, or points out of the checkpoint.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._path = checkpoint.path
        self._reader = SafeReader(checkpoint.path)
        metadata = self._reader.read_metadata()
        refuse_outside(metadata, checkpoint.marker.files, self._path)
        self.tensors: dict[str, TensorStorageMetadata] = {
            name: entry
            for name, entry in metadata.state_dict_metadata.items()
            if isinstance(entry, TensorStorageMetadata)
        }

    def bytes_of(self, name: str) -> int:
        """Return how many bytes a tensor takes."""
        entry = self.tensors[name]
        return entry.size.numel() * entry.properties.dtype.itemsize

    def load(self, names: Iterable[str]) -> Iterator[dict[str, torch.Tensor]]:
        """Yield some tensors in their order, each whole, a few at a time.

        Raises:
            CheckpointError: One cannot be read.
        """
        batch: dict[str, torch.Tensor] = {}
        batch_bytes = 0
        for name in names:
            if batch and batch_bytes + self.bytes_of(name) > _AT_ONCE_BYTES:
                yield self._read(batch)
                batch, batch_bytes = {}, 0
            entry = self.tensors[name]
            batch[name] = torch.empty(entry.size, dtype=entry.properties.dtype)
            batch_bytes += self.bytes_of(name)
        if batch:
            yield self._read(batch)

    def _read(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        try:
            with warnings.catch_warnings():
                # Asked for by no_dist; DCP remarks on it all the same.
                warnings.filterwarnings("ignore", "torch.distributed is disabled")
                dcp.load(batch, storage_reader=self._reader, no_dist=True)
        except CheckpointException as error:
            raise CheckpointError(f"{self._path}: {root_cause(error)}") from error
        return batch
