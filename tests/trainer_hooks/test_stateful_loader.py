"""torchdata's StatefulDataLoader: its own position, kept for each rank, also through workers."""

import json
from itertools import chain, islice
from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader

from tests.support.processes import Children
from tests.support.training import Run
from tests.trainer_hooks.test_batches import BATCH, Ids, sampler_at
from trainer_hooks.batches import handed_out
from trainer_hooks.errors import ConfigError
from trainer_hooks.of_each_rank import OfEachRank

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # on one core
    pytest.mark.filterwarnings("ignore:.set_vital. is deprecated"),  # torchdata 0.11 calls it
]

EPOCH = 10
"""Batches."""


class Counting(IterableDataset[int]):
    """A stream that knows where it is."""

    def __init__(self) -> None:
        self.at = 0

    def __iter__(self) -> "Counting":
        return self

    def __next__(self) -> int:
        if self.at == EPOCH * BATCH:
            self.at = 0
            raise StopIteration
        self.at += 1
        return self.at

    def state_dict(self) -> dict[str, Any]:
        """Return where it is."""
        return {"at": self.at}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go there."""
        self.at = state_dict["at"]


def loader(**options: Any) -> Any:  # noqa: ANN401 - the loader has no types
    """Return a loader over the ids, in their order."""
    dataset = options.pop("dataset", Ids())
    return StatefulDataLoader(dataset, BATCH, generator=torch.Generator().manual_seed(3), **options)


def hand_out(
    count: int, saved: dict[str, Any] | None, **options: object
) -> tuple[list[list[int]], Any]:
    """Return what a start is handed, and its state in the end, as a checkpoint would hold it."""
    ours = loader(**options)
    kept = OfEachRank(ours)
    if saved is not None:
        kept.load_state_dict(saved)
    batches = handed_out(ours, Run(data=kept).state)
    taken = [batch.tolist() for batch in islice(batches, count)]
    state = json.loads(json.dumps(kept.state_dict()))
    batches.close()
    ours.load_state_dict({})  # it keeps its workers until then, for its position
    return taken, state


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 4},
    ],
    ids=["alone", "workers", "persistent"],
)
@pytest.mark.parametrize("counts", [(4, 3, 20), (10, 1, 16)])
def test_batches_go_on_with_the_next_when_they_are_resumed_twice(
    options: dict[str, Any], counts: tuple[int, ...], children: Children
) -> None:
    """Inside an epoch, at its end, in the third, and after the first batch of all."""
    unbroken, _ = hand_out(27, None, **options)
    assert unbroken[0] == unbroken[EPOCH] == unbroken[2 * EPOCH]
    saved, seen = None, []
    for count in counts:
        taken, saved = hand_out(count, saved, **options)
        seen += taken
    assert seen == unbroken
    assert children() == set()


def test_stream_goes_on_when_it_knows_its_position() -> None:
    """As what no sampler counts has to."""
    unbroken, _ = hand_out(25, None, dataset=Counting())
    saved, seen = None, []
    for count in (4, 6, 15):
        taken, saved = hand_out(count, saved, dataset=Counting())
        seen += taken
    assert seen == unbroken


def test_loader_is_counted_by_its_sampler_when_that_is_a_resumable_one() -> None:
    """Its own position is not needed then, and the run may go on with other ranks."""
    sampler = sampler_at()
    ours = loader(sampler=sampler)
    batches = handed_out(ours, Run(data=sampler).state)
    taken = [batch.tolist() for batch in islice(batches, 3)]
    batches.close()
    assert list(chain(*taken)) == list(islice(iter(sampler_at()), 3 * BATCH))
    assert sampler.position == 3 * BATCH


def test_loader_is_refused_when_nobody_keeps_its_position() -> None:
    """A resume would begin the data anew."""
    with pytest.raises(ConfigError, match=r"StatefulDataLoader over Ids .*OfEachRank\(loader\)"):
        handed_out(loader(), Run().state)
    with pytest.raises(ConfigError, match="OfEachRank"):
        handed_out(loader(), Run(data=OfEachRank(loader())).state)


def test_loader_is_refused_when_it_has_no_generator_of_its_own() -> None:
    """As any other."""
    ours: Any = StatefulDataLoader(Ids(), BATCH)
    with pytest.raises(ConfigError, match="no random number generator of its own"):
        handed_out(ours, Run(data=OfEachRank(ours)).state)


def test_loader_is_refused_when_an_epoch_of_it_is_empty() -> None:
    """The training would wait for its first batch for ever."""
    ours = loader(sampler=[])
    batches = handed_out(ours, Run(data=OfEachRank(ours)).state)
    with pytest.raises(ConfigError, match="no batch in a whole epoch"):
        next(batches)
