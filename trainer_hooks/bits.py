"""Whether tensors are alike bit for bit, told by one number for each."""

from collections.abc import Sequence

import torch

_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32}
"""By size of an element in bytes, how its bits are read as a number; larger ones by eight bytes."""


@torch.no_grad()
def digest(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return one number for each tensor, on the device of the first: the sum of its bits.

    Read as integers they add up to the same in any order, so that equal tensors have equal
    digests, NaN or not, and any one value that differs makes another. It reads each tensor
    once and waits for no device.
    """
    device = tensors[0].device
    sums = [_sum(tensor).to(device, non_blocking=True) for tensor in tensors]
    return torch.stack(sums)


def _sum(tensor: torch.Tensor) -> torch.Tensor:
    word = _WORDS.get(tensor.element_size(), torch.int64)
    return tensor.detach().reshape(-1).view(word).sum(dtype=torch.int64)
