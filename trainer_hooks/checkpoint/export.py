"""Exporting the weights of a checkpoint, in the format of safetensors.

The file is written as it is read, a few tensors at a time: the model need not fit into memory.
Source: https://github.com/huggingface/safetensors#format (read 2026-11-30).
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import torch

from trainer_hooks.checkpoint.exported import EXPORT_KEY, MAX_HEADER_BYTES
from trainer_hooks.checkpoint.latest import Checkpoint
from trainer_hooks.checkpoint.new_file import new_file
from trainer_hooks.checkpoint.rank_state import read_rank_state
from trainer_hooks.checkpoint.tensors import TensorIndex
from trainer_hooks.errors import CheckpointError, ConfigError
from trainer_hooks.leaves import tensor_paths
from trainer_hooks.untrusted import Json

_MODEL = "model."

_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.complex64: "C64",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def export_weights(
    checkpoint: Checkpoint, target: Path, on_bytes: Callable[[int], object] = bool
) -> int:
    """Write the model's tensors to a new file, whole or not at all; return how many.

    Args:
        checkpoint: One whose digests are right.
        target: The file; its directory exists.
        on_bytes: Told how many bytes have been written since the last time.

    Raises:
        ConfigError: The file exists already, or can't be written.
        CheckpointError: The checkpoint cannot be read, or holds what safetensors can't.
    """
    index = TensorIndex(checkpoint)
    model = read_rank_state(checkpoint.path, 0).leaves.get("model")
    # Wide elements first, so that each tensor starts at a multiple of its element's size.
    names = sorted(set(tensor_paths(model)), key=lambda name: (-_itemsize(index, name), name))
    header = _header(checkpoint, index, names)
    if os.path.lexists(target):
        raise ConfigError(f"{target} exists already: remove it, or choose another")
    try:
        with new_file(target) as file:
            file.write(header)
            for batch in index.load(names):
                for name in batch:
                    _write(file, batch[name])
                    on_bytes(batch[name].nbytes)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}") from error
    return len(names)


def _itemsize(index: TensorIndex, name: str) -> int:
    if name not in index.tensors:
        raise CheckpointError(f"the index holds no tensor {name}")
    return index.tensors[name].properties.dtype.itemsize


def _header(checkpoint: Checkpoint, index: TensorIndex, names: list[str]) -> bytes:
    """Return the length of the file's head and the head itself: what is where."""
    data = json.dumps(_head(checkpoint, index, names)).encode()
    data += b" " * (-len(data) % 8)
    if len(data) > MAX_HEADER_BYTES:
        raise CheckpointError(f"{len(names)} tensors are too many for one file of safetensors")
    return len(data).to_bytes(8, "little") + data


def _head(checkpoint: Checkpoint, index: TensorIndex, names: list[str]) -> dict[str, Json]:
    origin = str(checkpoint.marker.name)
    head: dict[str, Json] = {"__metadata__": {"format": "pt", EXPORT_KEY: origin}}
    begin = 0
    for name in names:
        entry = index.tensors[name]
        dtype = _DTYPES.get(entry.properties.dtype)
        if dtype is None:
            raise CheckpointError(f"safetensors holds no {entry.properties.dtype}, as {name} is")
        end = begin + index.bytes_of(name)
        shape: list[Json] = [*entry.size]
        head[name.removeprefix(_MODEL)] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [begin, end],
        }
        begin = end
    return head


def _write(file: BinaryIO, tensor: torch.Tensor) -> None:
    if tensor.nbytes:
        file.write(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
