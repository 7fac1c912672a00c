"""An index that its digest vouches for, and that makes no sense all the same."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import FileSystemWriter
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)

from trainer_hooks.checkpoint.index_check import refuse_outside
from trainer_hooks.checkpoint.manifest import FileEntry
from trainer_hooks.checkpoint.metadata import SafeReader
from trainer_hooks.errors import CheckpointError

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a real index."""
    directory = tmp_path_factory.mktemp("real")
    tensors = {"float": torch.zeros(3, 3), "scalar": torch.zeros(()), "empty": torch.zeros(0)}
    dcp.save(tensors, storage_writer=FileSystemWriter(directory), no_dist=True)
    return (directory / ".metadata").read_bytes()


def read(directory: Path, data: bytes) -> Metadata:
    """Read an index from a directory."""
    (directory / ".metadata").write_bytes(data)
    return SafeReader(directory).read_metadata()


def change_size(metadata: Metadata) -> None:
    """Have a tensor that would take a petabyte."""
    of_float(metadata).size = torch.Size([10**15])


def change_piece(metadata: Metadata) -> None:
    """Have it lie outside its tensor."""
    piece = of_float(metadata).chunks[0]
    of_float(metadata).chunks[0] = ChunkStorageMetadata(torch.Size([1, 0]), piece.sizes)


def of_float(metadata: Metadata) -> TensorStorageMetadata:
    """Return what is said of one tensor."""
    found = metadata.state_dict_metadata["float"]
    assert isinstance(found, TensorStorageMetadata)
    return found


def odd(**words: object) -> Callable[[Metadata], None]:
    """Have every place be another thing."""

    def change(metadata: Metadata) -> None:
        places = {key: replace(at, **words) for key, at in metadata.storage_data.items()}
        metadata.storage_data = places

    return change


NONSENSE: dict[str, Callable[[Metadata], object]] = {
    "size": change_size,
    "negative size": lambda m: setattr(of_float(m), "size", torch.Size([-3, -3])),
    "no size": lambda m: setattr(of_float(m), "size", None),
    "piece outside": change_piece,
    "no pieces": lambda m: of_float(m).chunks.clear(),
    "no dtype": lambda m: setattr(of_float(m).properties, "dtype", "float32"),
    "too little stored": odd(length=8),
    "no tensors": lambda m: setattr(m, "state_dict_metadata", None),
    "no places": lambda m: setattr(m, "storage_data", None),
    "missing places": lambda m: m.storage_data.clear(),
    "other places": lambda m: setattr(m, "storage_data", dict.fromkeys(m.storage_data, 3)),
    "negative offset": odd(offset=-1),
    "no length": odd(length="1"),
    "no file": odd(relative_path=7),
}  # fmt: skip


@pytest.mark.parametrize("kind", NONSENSE)
def test_index_is_refused_when_it_makes_no_sense(tmp_path: Path, index: bytes, kind: str) -> None:
    """Before memory is taken or a file opened by it, and as no other exception."""
    metadata = read(tmp_path, index)
    NONSENSE[kind](metadata)
    with pytest.raises(CheckpointError, match="is not an index of tensors"):
        read(tmp_path, pickle.dumps(metadata))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (odd(relative_path="../../etc/passwd"), "no file of its own"),
        (odd(relative_path="\x1b[2J"), r"points to \\x1b\[2J, no file"),
        (odd(offset=10**9), "points behind the end of __0_0.distcp"),
    ],
    ids=["elsewhere", "escape", "behind the end"],
)
def test_index_is_refused_when_it_points_out_of_its_checkpoint(
    tmp_path: Path, index: bytes, change: Callable[[Metadata], None], why: str
) -> None:
    """Whoever may write into the directory could have any file read by it."""
    metadata = read(tmp_path, index)
    files = [FileEntry("__0_0.distcp", 10**6, "")]
    refuse_outside(metadata, files, tmp_path)
    change(metadata)
    with pytest.raises(CheckpointError, match=why):
        refuse_outside(metadata, files, tmp_path)
