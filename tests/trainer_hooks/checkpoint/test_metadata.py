"""DCP's index: read when it is one, refused unexecuted when it could be a program."""

import io
import os
import pickle
import subprocess
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as dcp
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.checkpoint import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.metadata import (
    _MEM_FORMAT_ENCODING,
    BytesStorageMetadata,
    Metadata,
)

from tests.support.training import plain
from trainer_hooks.checkpoint.metadata import SafeReader
from trainer_hooks.errors import CheckpointError

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

TENSORS = {
    "float": torch.zeros(3, 3),
    "half": torch.zeros(2, dtype=torch.bfloat16),
    "scalar": torch.zeros((), dtype=torch.int64),
    "empty": torch.zeros(0),
    "images": torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last),
    "parameter": torch.nn.Parameter(torch.zeros(2)),
    "complex": torch.zeros(2, dtype=torch.complex64),
    "bool": torch.zeros(2, dtype=torch.bool),
    "eight": torch.zeros(2).to(torch.float8_e4m3fn),
    "view": torch.zeros(1).expand(5),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a real index."""
    directory = tmp_path_factory.mktemp("real")
    dcp.save(TENSORS, storage_writer=FileSystemWriter(directory), no_dist=True)
    return (directory / ".metadata").read_bytes()


def read(directory: Path, data: bytes) -> Metadata:
    """Read an index from a directory."""
    (directory / ".metadata").write_bytes(data)
    return SafeReader(directory).read_metadata()


def test_index_is_read_when_it_is_a_real_one(tmp_path: Path, index: bytes) -> None:
    """Every kind of tensor in it, as DCP itself reads them."""
    ours, theirs = read(tmp_path, index), FileSystemReader(tmp_path).read_metadata()
    assert ours.state_dict_metadata == theirs.state_dict_metadata
    assert set(ours.state_dict_metadata) == set(TENSORS)
    assert ours.storage_data == theirs.storage_data
    assert ours.storage_meta is not None
    assert ours.storage_meta.load_id


def test_index_is_read_when_an_early_python_3_11_has_written_it(
    tmp_path: Path, index: bytes
) -> None:
    """As Debian 12's own writes each member of an enum: by a call of getattr."""
    metadata = read(tmp_path, index)

    class Early(pickle.Pickler):
        def reducer_override(self, value: object) -> Any:  # noqa: ANN401 - pickle's own signature
            if isinstance(value, Enum):
                return getattr, (type(value), value.name)
            return NotImplemented

    written = io.BytesIO()
    Early(written).dump(metadata)
    assert b"getattr" in written.getvalue()
    again = read(tmp_path, written.getvalue())
    assert again.state_dict_metadata == metadata.state_dict_metadata


@pytest.mark.parametrize("name", ["__class__", "mro", "_member_map_", 7])
def test_index_is_refused_when_it_asks_an_enum_for_more_than_a_member(
    tmp_path: Path, name: object
) -> None:
    """From any other attribute there is a way to a function."""
    with pytest.raises(CheckpointError, match=r"names builtins\.getattr"):
        read(tmp_path, pickle.dumps(Call(getattr, _MEM_FORMAT_ENCODING, name)))


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: object) -> None:  # noqa: ANN401 - any callable
        self._call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self._call


def hostile(tmp_path: Path) -> list[Call]:
    """Return calls that would leave a file, or otherwise act."""
    trace = f"touch {tmp_path}/executed"
    return [
        Call(os.system, trace),
        Call(eval, f"__import__('os').system({trace!r})"),
        Call(exec, f"__import__('os').system({trace!r})"),
        Call(getattr, "text", "upper"),
        Call(subprocess.check_call, ["touch", f"{tmp_path}/executed"]),
        Call(torch.load, f"{tmp_path}/anything"),
        Call(torch.hub.load, "somebody/something", "model"),
        Call(FileSystem),
        Call(FileSystemWriter, f"{tmp_path}/written"),
        Call(Path.unlink, tmp_path / "precious"),
    ]


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_index_is_refused_when_it_names_a_function(
    tmp_path: Path, number: int, protocol: int
) -> None:
    """By the name, and before anything of it has run; alone, and inside a good index."""
    (tmp_path / "precious").touch()
    call = hostile(tmp_path)[number]
    for value in (call, Metadata({}, planner_data=call)):
        with pytest.raises(CheckpointError, match="it names "):
            read(tmp_path, pickle.dumps(value, protocol))
    assert {path.name for path in tmp_path.iterdir()} == {"precious", ".metadata"}


@pytest.mark.parametrize("name", ["os\nsystem", "torch.distributed.checkpoint.metadata\nos.system"])
def test_index_is_refused_when_it_reaches_a_function_through_a_module(
    tmp_path: Path, name: str
) -> None:
    """Also one that the modules we know have imported."""
    with pytest.raises(CheckpointError, match="it names "):
        read(tmp_path, f"c{name}\n(S'true'\ntR.".encode())


def test_index_is_refused_when_it_calls_a_tensor_bytes(tmp_path: Path) -> None:
    """DCP would unpickle the bytes that it points to."""
    with pytest.raises(CheckpointError, match=r"it names .*BytesStorageMetadata"):
        read(tmp_path, pickle.dumps(Metadata({"a": BytesStorageMetadata()})))


def test_index_is_read_once_by_each_reader(tmp_path: Path, index: bytes) -> None:
    """DCP asks for it a second time, and gets what was looked at the first time."""
    (tmp_path / ".metadata").write_bytes(index)
    reader = SafeReader(tmp_path)
    first = reader.read_metadata()
    (tmp_path / ".metadata").write_bytes(pickle.dumps("another"))
    reader.reset()
    assert reader.read_metadata() is first
    assert first.storage_meta is not None
    assert first.storage_meta.load_id == reader.load_id


@pytest.mark.parametrize("value", [None, 1, "text", {}, [1], torch.float32, torch.Size([2])])
def test_index_is_refused_when_it_is_something_else(tmp_path: Path, value: object) -> None:
    """By what it holds instead."""
    with pytest.raises(CheckpointError, match="not an index of tensors"):
        read(tmp_path, pickle.dumps(value))


def test_index_is_refused_when_it_is_not_there(tmp_path: Path) -> None:
    """By its path."""
    with pytest.raises(CheckpointError, match=r"\.metadata"):
        SafeReader(tmp_path).read_metadata()


@pytest.mark.parametrize("put", [b"r" + (2**31).to_bytes(4, "little"), b"p2147483648\n"])
def test_index_is_refused_when_a_few_bytes_of_it_would_take_all_memory(
    tmp_path: Path, put: bytes
) -> None:
    """The unpickler makes room for as many objects as a number in it says."""
    with pytest.raises(CheckpointError, match="it numbers an object 2147483648"):
        read(tmp_path, b"\x80\x04Ka" + put + b".")


def test_index_is_refused_when_it_is_cut_anywhere(tmp_path: Path, index: bytes) -> None:
    """At no length does half an index pass for a whole one."""
    for length in range(0, len(index), 7):
        with pytest.raises(CheckpointError):
            read(tmp_path, index[:length])


@given(data=st.data())
def test_index_is_read_or_refused_when_bytes_of_it_are_wrong(
    tmp_path_factory: pytest.TempPathFactory, index: bytes, data: st.DataObject
) -> None:
    """Nothing but an error of ours comes out of damage, or of an arbitrary pickle."""
    place = data.draw(st.integers(0, len(index) - 1))
    wrong = data.draw(st.binary(min_size=1, max_size=4))
    damaged = index[:place] + wrong + index[place + len(wrong) :]
    try:
        metadata = read(tmp_path_factory.getbasetemp(), damaged)
    except CheckpointError:
        return
    assert isinstance(metadata, Metadata)


def test_tensors_are_loaded_when_the_index_is_safe(tmp_path: Path) -> None:
    """Through DCP, with our reader in the place of its own."""
    saved = {name: torch.ones(tensor.shape).to(tensor.dtype) for name, tensor in TENSORS.items()}
    dcp.save(saved, storage_writer=FileSystemWriter(tmp_path), no_dist=True)
    loaded = {name: torch.zeros_like(tensor) for name, tensor in saved.items()}
    dcp.load(loaded, storage_reader=SafeReader(tmp_path), no_dist=True)
    assert plain(loaded) == plain(saved)
