"""Whether what should be alike on all ranks is: a digest of every replicated parameter; no Store.

A GPU that computes wrongly now and then fails nothing. Under DDP its parameters part from the
others' and stay so, as DDP sends them around once, at the start, and only gradients after that.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32}
"""By size of an element in bytes, how its bits are read as a number; larger ones by eight bytes."""


def replicated(model: nn.Module, ranks: int) -> dict[str, nn.Parameter]:
    """Return the parameters that DDP keeps alike on so many ranks, by name."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found = {}
    for module in model.modules():
        if isinstance(module, DistributedDataParallel) and module.process_group.size() == ranks:
            for name, parameter in module.module.named_parameters():
                is_alike = name not in module.parameters_to_ignore
                if is_alike and not isinstance(parameter, DTensor):
                    found[names[id(parameter)]] = parameter
    return found


@torch.no_grad()
def digest(parameters: Sequence[nn.Parameter]) -> torch.Tensor:
    """Return one number for each parameter, on the device of the first: the sum of its bits.

    Read as integers they add up to the same in any order, so that equal parameters have equal
    digests, NaN or not, and any one value that differs makes another. It reads each parameter
    once and waits for no device.
    """
    device = parameters[0].device
    sums = [_sum(parameter).to(device, non_blocking=True) for parameter in parameters]
    return torch.stack(sums)


def _sum(parameter: torch.Tensor) -> torch.Tensor:
    word = _WORDS.get(parameter.element_size(), torch.int64)
    return parameter.detach().reshape(-1).view(word).sum(dtype=torch.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one rank says of one check."""

    rank: int
    digest: str
    """Of all its parameters."""
    first: int | None
    """Number of the first parameter that is not rank 0's; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Who differs from the others, and where first."""

    ranks: tuple[int, ...]
    is_certain: bool
    """Whether most ranks agree, and those are the others; else nobody knows who is right."""
    first: int


def difference(said: Sequence[Said]) -> Difference | None:
    """Return how ranks differ: more than half of them alike are right. None if all are alike."""
    digests = Counter(one.digest for one in said)
    if len(digests) == 1:
        return None
    digest_, count = digests.most_common(1)[0]
    is_certain = 2 * count > len(said)
    others = [one.rank for one in said if not is_certain or one.digest != digest_]
    # Rank 0 differs from itself nowhere: if it is the odd one, the others say where.
    first = min(one.first for one in said if one.first is not None)
    return Difference(ranks=tuple(sorted(others)), is_certain=is_certain, first=first)
