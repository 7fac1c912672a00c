"""The data position: one number, with the same meaning at any number of ranks."""

import json
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.data import ResumableSampler
from trainer_hooks.errors import ConfigError, StateError

SIZE = 23


def sampler(rank: int = 0, world_size: int = 1, size: int = SIZE) -> ResumableSampler:
    """Return the sampler of one rank."""
    return ResumableSampler(size, seed=5, rank=rank, world_size=world_size)


def take(source: ResumableSampler, count: int) -> list[int]:
    """Return the next ids, without advancing."""
    return list(islice(source, count))


def together(samplers: list[ResumableSampler], batches: int, batch_size: int) -> list[list[int]]:
    """Return the global batches that ranks draw together, each sorted."""
    drawn = []
    for _ in range(batches):
        ids = [id_ for each in samplers for id_ in take(each, batch_size)]
        drawn.append(sorted(ids))
        for each in samplers:
            each.advance(batch_size)
    return drawn


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 8])
def test_streams_are_one_order_when_ranks_take_turns(world_size: int) -> None:
    """Over three epochs, however many ranks share them."""
    alone = take(sampler(), 24 * 3)
    streams = [take(sampler(rank, world_size), 24 * 3 // world_size) for rank in range(world_size)]
    assert [id_ for turn in zip(*streams, strict=True) for id_ in turn] == alone


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 6])
def test_global_batches_are_the_same_when_the_number_of_ranks_changes(world_size: int) -> None:
    """As long as the global batch keeps its size, here 12."""
    samplers = [sampler(rank, world_size) for rank in range(world_size)]
    assert together(samplers, 10, 12 // world_size) == together([sampler()], 10, 12)


def test_stream_is_the_pinned_one_when_the_code_changes() -> None:
    """A position that an older version has saved must mean the same samples."""
    source = sampler()
    assert take(source, 6) == [20, 12, 13, 10, 17, 9]
    source.advance(SIZE)
    assert take(source, 6) == [1, 19, 20, 17, 9, 4]


def test_epochs_hold_each_sample_once_when_they_pass() -> None:
    """Each in an order of its own."""
    ids = take(sampler(), 3 * SIZE)
    epochs = [ids[start : start + SIZE] for start in range(0, 3 * SIZE, SIZE)]
    assert all(sorted(epoch) == list(range(SIZE)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_order_is_the_data_sets_own_when_it_is_not_shuffled() -> None:
    """Epoch after epoch."""
    plain = ResumableSampler(5, shuffle=False, rank=0, world_size=1)
    assert take(plain, 12) == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]


@given(skipped=st.integers(0, 5 * SIZE), world_size=st.integers(1, 8), data=st.data())
def test_seek_equals_skip_when_the_position_is_anywhere(
    skipped: int, world_size: int, data: st.DataObject
) -> None:
    """Also across the ends of epochs."""
    rank = data.draw(st.integers(0, world_size - 1))
    source = sampler(rank, world_size)
    expected = take(source, skipped + 10)[skipped:]
    source.advance(skipped)
    assert take(source, 10) == expected
    assert source.position == skipped * world_size


@given(size=st.integers(1, 40), first=st.integers(0, 60), second=st.integers(0, 60))
def test_stream_goes_on_when_it_is_resumed_twice(size: int, first: int, second: int) -> None:
    """Saved, loaded, moved on, saved and loaded again."""
    unbroken = take(sampler(size=size), first + second + 5)
    saved = None
    for steps in (first, second):
        source = sampler(size=size)
        if saved is not None:
            source.load_state_dict(saved)
        source.advance(steps)
        saved = source.state_dict()
    resumed = sampler(size=size)
    assert saved is not None
    resumed.load_state_dict(saved)
    assert take(resumed, 5) == unbroken[first + second :]


@pytest.mark.parametrize("position", [0, SIZE - 1, SIZE, 2 * SIZE])
def test_epoch_is_that_of_the_next_sample_when_the_position_is_at_a_boundary(
    position: int,
) -> None:
    """Counted from 0."""
    source = sampler()
    source.advance(position)
    assert source.epoch == position // SIZE


@pytest.mark.parametrize(
    ("change", "what"),
    [({"seed": 6}, "seed was 6, is 5"), ({"size": 24}, "size"), ({"shuffle": False}, "shuffle")],
)
def test_position_is_refused_when_it_belongs_to_another_stream(
    change: dict[str, int], what: str
) -> None:
    """The same number would be other samples there; nothing is moved."""
    source = sampler()
    source.advance(3)
    with pytest.raises(StateError, match=what):
        source.load_state_dict(source.state_dict() | change)
    with pytest.raises(StateError, match="seed was None"):
        source.load_state_dict({"position": 1})
    assert source.position == 3


def test_position_is_taken_over_when_the_number_of_ranks_differs() -> None:
    """It counts samples over all ranks."""
    four = sampler(0, 4)
    four.advance(3)
    two = sampler(1, 2)
    two.load_state_dict(four.state_dict())
    assert take(two, 2) == take(sampler(), 16)[13::2]


@pytest.mark.parametrize("size", [0, -1])
def test_sampler_is_refused_when_there_is_nothing_to_sample(size: int) -> None:
    """It would never yield."""
    with pytest.raises(ConfigError, match="at least one sample"):
        ResumableSampler(size)


@pytest.mark.parametrize(
    ("silly", "why"),
    [
        ({"order": 2.5}, "order is a whole number, not 2.5"),
        ({"order": "997"}, "order is a whole number"),
        ({"order": None}, "order is a whole number"),
        ({"order": True}, "order is a whole number"),
        ({"seed": None}, "seed is a whole number"),
        ({"seed": 1.5}, "seed is a whole number"),
        ({"rank": 0.5}, "rank is a whole number"),
        ({"world_size": 0}, "rank 0 is none of 0"),
        ({"world_size": -1}, "rank 0 is none of -1"),
        ({"rank": 5}, "rank 5 is none of 2"),
        ({"rank": -1}, "rank -1 is none of 2"),
    ],
    ids=str,
)
def test_sampler_is_refused_when_its_arguments_make_no_sense(
    silly: dict[str, Any], why: str
) -> None:
    """At once: it would deal samples that no rank, or several, should have."""
    with pytest.raises(ConfigError, match=why):
        ResumableSampler(**{"order": SIZE, "rank": 0, "world_size": 2, **silly})


def test_numbers_are_pythons_when_they_were_numpys() -> None:
    """A checkpoint has to hold them."""
    by_numpy = ResumableSampler(np.int64(SIZE), seed=np.int32(5), rank=0, world_size=1)  # type: ignore[arg-type]  # as from an index file
    assert json.dumps(by_numpy.state_dict()) == json.dumps(sampler().state_dict())


@pytest.mark.parametrize("position", [True, -1, 1.5, None, "7"])
def test_position_is_refused_when_it_is_no_number_of_samples(position: Any) -> None:  # noqa: ANN401 - anything
    """It was damaged, or written by hand."""
    with pytest.raises(StateError, match="which is no number of samples"):
        sampler().load_state_dict(sampler().state_dict() | {"position": position})


def test_sampler_is_a_single_ranks_when_nobody_says_otherwise() -> None:
    """A script without torch.distributed needs no other line."""
    alone = ResumableSampler(SIZE)
    assert (alone.rank, alone.world_size) == (0, 1)
