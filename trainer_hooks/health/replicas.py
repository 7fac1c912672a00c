"""Whether what should be alike on all ranks is: who differs, by digests of parameters; no Store.

A GPU that computes wrongly now and then fails nothing. Under DDP its parameters part from the
others' and stay so, as DDP sends them around once, at the start, and only gradients after that.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel


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
