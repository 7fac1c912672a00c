"""What a rank claims of each tensor of its model, small enough to be told to all the others."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.distributed as dist
import xxhash
from torch import nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from trainer_hooks.bits import digest
from trainer_hooks.placing import piece_of
from trainer_hooks.state import MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one rank says of one tensor: of its shape, or of its bits."""

    path: str
    about: int
    """The path, or a piece of what is there; hashed."""
    claimed: int
    """Its shape, or its bits; hashed."""
    keeper: int
    """First of the ranks that torch keeps this alike on; this rank where nothing does."""


def claims_of(tensors: Mapping[str, torch.Tensor], model: nn.Module) -> list[Claim]:
    """Return what this rank claims of each tensor of the model: its shape, and its bits.

    Args:
        tensors: What was captured, by path.
        model: Whose parameters' bits are claimed; of buffers only the shapes.
    """
    of_model = {path: one for path, one in tensors.items() if path.startswith(MODEL)}
    keepers = _keepers(model)
    parts = {path: _local(one) for path, one in of_model.items()}
    parts = {path: one for path, one in parts.items() if one.numel() and one.data_ptr() in keepers}
    sums = digest([*parts.values()]).tolist() if parts else []
    rank = dist.get_rank()
    shapes = [
        Claim(path=path, about=_hash(path), claimed=_hash(_kind(one)), keeper=rank)
        for path, one in of_model.items()
    ]
    return shapes + [
        Claim(
            path=path,
            about=_hash(f"{path} {piece_of(of_model[path])}"),
            claimed=number % 2**64,
            keeper=keepers[parts[path].data_ptr()],
        )
        for path, number in zip(parts, sums, strict=True)
    ]


def _keepers(model: nn.Module) -> dict[int, int]:
    """Return for each parameter, by its address, the first of the ranks that keep it alike."""
    alone = dist.get_rank()
    keepers = {_local(one).data_ptr(): alone for one in model.parameters()}
    for module in model.modules():
        if isinstance(module, DistributedDataParallel):
            first = dist.get_process_group_ranks(module.process_group)[0]
            named = module.module.named_parameters()
            kept = [one for name, one in named if name not in module.parameters_to_ignore]
            keepers |= {_local(one).data_ptr(): first for one in kept}
    for one in model.parameters():
        if isinstance(one, DTensor):
            keepers[_local(one).data_ptr()] = int(one.device_mesh.mesh.min())
    return keepers


def _kind(tensor: torch.Tensor) -> str:
    return f"{isinstance(tensor, DTensor)} {tensor.dtype} {tuple(tensor.shape)}"


def _local(tensor: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())
