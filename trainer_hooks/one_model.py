"""Whether what ranks hold of a model under one name is one thing, before one of it is kept.

A checkpoint keeps one tensor for each name, or one of each piece of it. Where several ranks hold
it, any of theirs is taken; that is right for replicas, and silently loses parameters where stages
of a pipeline have named theirs alike, or where peers have drifted apart that nothing keeps alike.
"""

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
import xxhash
from torch import nn

from trainer_hooks.claims import Claim, claims_of
from trainer_hooks.errors import StateError
from trainer_hooks.state import MODEL, Snapshot
from trainer_hooks.world import World

log = logging.getLogger(__name__)

_NAMED = 3
"""So many tensors are named; a pipeline whose stages are named alike has them all."""

Table = npt.NDArray[np.uint64]
"""A row a claim: what it is about, and what is claimed, as hashes."""


class OneModel:
    """Looks once, at the first state that is captured: what goes wrong later is no set-up.

    Args:
        model: Whose parameters are compared. Buffers are not: those of batch norm differ under
            DDP, and the lowest rank's count.
        world: The ranks.
    """

    def __init__(self, model: nn.Module, world: World) -> None:
        self._model = model
        self._world = world
        self._is_seen = False

    def checked(self, snapshot: Snapshot) -> Snapshot:
        """Return what was captured, once it is known to be one model. All ranks call it.

        Raises:
            StateError: Ranks hold different things under one name; on all ranks.
        """
        if not self._is_seen and self._world.group is not None:
            self._look(snapshot.tensors)
        self._is_seen = True
        return snapshot

    def _look(self, tensors: Mapping[str, torch.Tensor]) -> None:
        claims = claims_of(tensors, self._model)
        table = np.array([(one.about, one.claimed) for one in claims], dtype=np.uint64)
        table = table.reshape(-1, 2)
        # Ranks that hold the same, as under DDP, need not tell more than that.
        if len({*self._world.from_all(xxhash.xxh3_128(table.tobytes()).digest())}) == 1:
            return
        differing = _differing(self._world.from_all(table))
        if not differing:
            return
        mine = [one for one in claims if one.about in differing]
        of_ranks = self._world.from_all(mine)
        if lost := _lost(of_ranks):
            raise StateError(_said(of_ranks, lost))
        if self._world.is_coordinator:
            log.warning("%s", _astray(of_ranks))


def _differing(tables: Sequence[Table]) -> set[int]:
    """Return what ranks claim different things about."""
    claims = np.unique(np.concatenate(tables), axis=0)
    abouts, counts = np.unique(claims[:, 0], return_counts=True)
    return {int(about) for about in abouts[counts > 1]}


def _lost(of_ranks: Sequence[Sequence[Claim]]) -> set[int]:
    """Return what is claimed differently by ranks that nothing keeps alike.

    Where torch keeps ranks alike and they differ all the same, a device computes wrongly: that is
    no set-up, the first of them counts, and the guards look after it.
    """
    of_keeper: dict[tuple[int, int], int] = {}
    for one in (one for of_rank in of_ranks for one in of_rank):
        of_keeper.setdefault((one.about, one.keeper), one.claimed)
    claims: dict[int, set[int]] = {}
    for (about, _), claimed in of_keeper.items():
        claims.setdefault(about, set()).add(claimed)
    return {about for about, claimed in claims.items() if len(claimed) > 1}


def _said(of_ranks: Sequence[Sequence[Claim]], lost: set[int]) -> str:
    return (
        "ranks hold different tensors under one name, and a checkpoint keeps one of them: "
        f"{_named(of_ranks, lost)}. Stages of a pipeline need names of their own (docs/data.md); "
        "replicas have drifted apart: look at how their gradients are summed, and at their random "
        "numbers"
    )


def _astray(of_ranks: Sequence[Sequence[Claim]]) -> str:
    abouts = {one.about for of_rank in of_ranks for one in of_rank}
    return (
        f"replicas that torch keeps alike differ: {_named(of_ranks, abouts)}. Checkpoints hold the "
        "first rank's. Something was written to them on some ranks, or a device computes wrongly: "
        "Health(compare_every=...) finds when and where (docs/guards.md)"
    )


def _named(of_ranks: Sequence[Sequence[Claim]], abouts: set[int]) -> str:
    """Return the first few tensors and who holds them."""
    of_path: dict[str, dict[int, None]] = {}
    for rank, of_rank in enumerate(of_ranks):
        for one in (one for one in of_rank if one.about in abouts):
            of_path.setdefault(one.path, {})[rank] = None
    named = [
        f"{path.removeprefix(MODEL)} on ranks {', '.join(map(str, ranks))}"
        for path, ranks in [*of_path.items()][:_NAMED]
    ]
    more = f" and {len(of_path) - _NAMED} more" if len(of_path) > _NAMED else ""
    return "; ".join(named) + more
