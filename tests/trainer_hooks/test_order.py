"""The order of an endless stream: epochs that run on or end with a batch, and mixtures."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_hooks.errors import ConfigError
from trainer_hooks.order import Order, RunningOn, WeightedShards, WholeBatches


def ids(order: Order, count: int, *, seed: int = 5, shuffle: bool = True) -> list[int]:
    """Return the beginning of a stream."""
    return [order.id_at(index, seed=seed, shuffle=shuffle) for index in range(count)]


@given(size=st.integers(1, 60), batch=st.integers(1, 60))
def test_epochs_end_with_a_batch_when_the_rest_is_dropped(size: int, batch: int) -> None:
    """No sample twice in an epoch, and as many left out as fill no batch."""
    if batch > size:
        with pytest.raises(ConfigError, match="tail='drop' drops the rest"):
            WholeBatches(size, batch, "drop")
        return
    order = WholeBatches(size, batch, "drop")
    assert order.epoch_samples == size - size % batch
    epoch = ids(order, order.epoch_samples)
    assert len(set(epoch)) == len(epoch)
    assert set(epoch) <= set(range(size))


def test_other_samples_are_left_out_when_another_epoch_drops_its_rest() -> None:
    """Nothing is never seen."""
    order = WholeBatches(23, 4, "drop")
    assert set(ids(order, 20 * 10)) == set(range(23))


@given(size=st.integers(1, 60), batch=st.integers(1, 60))
def test_epochs_end_with_a_batch_when_they_are_padded(size: int, batch: int) -> None:
    """Every sample is there; those that fill the last batch up come from the epoch's beginning."""
    order = WholeBatches(size, batch, "pad")
    assert order.epoch_samples % batch == 0
    assert 0 <= order.epoch_samples - size < batch
    epoch = ids(order, order.epoch_samples)
    assert sorted(epoch[:size]) == list(range(size))
    assert epoch[size:] == (epoch[:size] * batch)[: order.epoch_samples - size]


def test_epochs_run_on_when_nobody_says_otherwise() -> None:
    """The second begins where the first ends, inside a batch or not."""
    assert ids(RunningOn(5), 12, shuffle=False) == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert ids(WholeBatches(5, 2, "drop"), 8, shuffle=False) == [0, 1, 2, 3, 0, 1, 2, 3]
    assert ids(WholeBatches(5, 2, "pad"), 8, shuffle=False) == [0, 1, 2, 3, 4, 0, 0, 1]


@given(
    shards=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 5)), min_size=1, max_size=5),
    turns=st.integers(1, 12),
    seed=st.integers(),
    shuffle=st.booleans(),
)
def test_shards_have_exactly_their_weight_when_they_are_mixed(
    shards: list[tuple[int, int]], turns: int, *, seed: int, shuffle: bool
) -> None:
    """In every turn; and of a shard no sample comes a second time before all have come once."""
    sizes, weights = [size for size, _ in shards], [weight for _, weight in shards]
    order = WeightedShards(sizes, weights)
    turn = sum(weights)
    stream = ids(order, turns * turn, seed=seed, shuffle=shuffle)
    firsts = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    ranges = [range(first, last) for first, last in pairwise(firsts)]
    for start in range(0, len(stream), turn):
        drawn = stream[start : start + turn]
        assert [sum(one in ours for one in drawn) for ours in ranges] == weights
    for ours, weight in zip(ranges, weights, strict=True):
        seen = Counter(one for one in stream if one in ours)
        epochs, rest = divmod(turns * weight, len(ours))
        counts = sorted(seen[one] - epochs for one in ours)
        assert counts == [0] * (len(ours) - rest) + [1] * rest


def test_mixture_is_scattered_when_it_is_shuffled() -> None:
    """Neither turns nor shards repeat themselves."""
    order = WeightedShards([50, 50], [5, 5])
    stream = ids(order, 1000)
    turns = [tuple(one < 50 for one in stream[n : n + 10]) for n in range(0, 1000, 10)]
    assert len(set(turns)) > 50
    assert stream[:100] != stream[100:200]
    assert stream != ids(order, 1000, seed=6)


def test_mixture_is_the_pinned_one_when_the_code_changes() -> None:
    """A position that an older version has saved must mean the same samples."""
    assert ids(WeightedShards([7, 100], [2, 3]), 10) == PINNED


PINNED = [61, 0, 29, 55, 1, 4, 41, 73, 6, 88]


def test_any_index_is_reached_at_once_when_shards_are_huge() -> None:
    """Far into the stream, too."""
    order = WeightedShards([10**12, 10**9], [9, 1])
    assert 0 <= order.id_at(10**15 + 3, seed=1, shuffle=True) < order.size


@pytest.mark.parametrize(
    ("sizes", "weights"),
    [([], []), ([3], []), ([3, 4], [1]), ([3, 0], [1, 1]), ([3, 4], [1, 0]), ([3, 4], [1, -1])],
)
def test_shards_are_refused_when_one_would_never_be_seen(
    sizes: list[int], weights: list[int]
) -> None:
    """Or when it is not said how often."""
    with pytest.raises(ConfigError, match="each needs a size and a weight"):
        WeightedShards(sizes, weights)


def test_order_is_refused_when_it_is_of_broken_numbers() -> None:
    """Its samples would be, too."""
    half: Any = 2.5
    with pytest.raises(ConfigError, match=r"a whole number, not 2\.5"):
        WeightedShards([half], [1])
    with pytest.raises(ConfigError, match=r"a whole number, not 2\.5"):
        WholeBatches(7, half, "drop")


@pytest.mark.parametrize(
    ("size", "batch", "tail", "why"),
    [(0, 1, "pad", "no whole batch"), (3, 0, "pad", "no whole"), (9, 3, "keep", "drop or pad")],
)
def test_whole_batches_are_refused_when_there_can_be_none(
    size: int, batch: int, tail: str, why: str
) -> None:
    """Or when the rule is none."""
    with pytest.raises(ConfigError, match=why):
        WholeBatches(size, batch, tail)
