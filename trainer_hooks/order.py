"""Which sample stands at an index of an endless stream: a function of (seed, index), no memory.

A sampler over a plain number of samples runs one epoch into the next. ``WholeBatches`` ends each
epoch with a global batch, and ``WeightedShards`` mixes parts of a data set.
"""

import operator
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from typing import Protocol, SupportsIndex

from trainer_hooks.errors import ConfigError
from trainer_hooks.permutation import Permutation
from trainer_hooks.untrusted import Json

_permutation = lru_cache(maxsize=128)(Permutation.of)
"""A stream stands in one epoch of each shard at a time, and goes through it index by index."""


def whole_number(what: str, value: object) -> int:
    """Return a whole number, of Python's or of numpy's.

    Raises:
        ConfigError: It is another thing; says what of.
    """
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return operator.index(value)
    raise ConfigError(f"{what} is a whole number, not {value!r:.60}")


class Order(Protocol):
    """An endless stream of sample ids in ``range(size)``."""

    @property
    def size(self) -> int:
        """Samples of the data set."""

    @property
    def epoch_samples(self) -> int:
        """Samples that the stream holds in an epoch."""

    def id_at(self, index: int, *, seed: int, shuffle: bool) -> int:
        """Return the sample at an index from 0, in constant time."""

    def describe(self) -> dict[str, Json]:
        """Return what, beside size, seed and shuffle, gives an index its meaning."""


@dataclass(frozen=True, slots=True)
class RunningOn:
    """Every sample once an epoch, and the next epoch right after it, inside a batch if need be.

    Raises:
        ConfigError: There is no sample.
    """

    size: int

    def __post_init__(self) -> None:
        if whole_number("the size of a data set", self.size) < 1:
            raise ConfigError(f"a sampler needs at least one sample, not {self.size}")

    @property
    def epoch_samples(self) -> int:
        """All of them."""
        return self.size

    def id_at(self, index: int, *, seed: int, shuffle: bool) -> int:
        """Return the sample at an index."""
        epoch, place = divmod(index, self.size)
        return _permutation(self.size, seed=seed, epoch=epoch)[place] if shuffle else place

    def describe(self) -> dict[str, Json]:
        """Return nothing."""
        return {}


class Tail(StrEnum):
    """What becomes of the samples at the end of an epoch that fill no global batch."""

    DROP = "drop"
    """They are left out; with another order in each epoch, others each time."""
    PAD = "pad"
    """The batch is filled up from the beginning of the same epoch."""


@dataclass(frozen=True, slots=True)
class WholeBatches:
    """Epochs that end with a global batch, so that no batch holds samples of two.

    Args:
        size: Samples of the data set.
        global_batch: Samples that all ranks take together in a step. It, and not the number of
            ranks, says where an epoch ends.
        tail: ``drop`` or ``pad``.

    Raises:
        ConfigError: There is no sample, or no whole batch to be had.
    """

    size: int
    global_batch: int
    tail: str

    def __post_init__(self) -> None:
        if self.tail not in list(Tail):
            raise ConfigError(f"tail is {' or '.join(Tail)}, not {self.tail!r}")
        whole_number("the size of a data set", self.size)
        whole_number("a global batch", self.global_batch)
        if self.size < 1 or self.global_batch < 1 or self.epoch_samples < 1:
            raise ConfigError(
                f"{self.size} samples hold no whole batch of {self.global_batch}"
                + (", and tail='drop' drops the rest" if self.tail == Tail.DROP else "")
            )

    @property
    def epoch_samples(self) -> int:
        """The multiple of the global batch below or above all of them."""
        whole = self.size // self.global_batch
        if self.tail == Tail.PAD and self.size % self.global_batch:
            whole += 1
        return whole * self.global_batch

    def id_at(self, index: int, *, seed: int, shuffle: bool) -> int:
        """Return the sample at an index."""
        epoch, place = divmod(index, self.epoch_samples)
        place %= self.size  # where it is padded it begins again
        return _permutation(self.size, seed=seed, epoch=epoch)[place] if shuffle else place

    def describe(self) -> dict[str, Json]:
        """Return how epochs end."""
        return {"tail": str(self.tail), "batch": self.global_batch}


class WeightedShards:
    """Parts of a data set, mixed in fixed proportions: ids count through them, one after another.

    Of any ``sum(weights)`` samples in a row, from a multiple of that on, each shard has exactly its
    weight. Each shard passes through epochs of its own, every sample of it once in each, so that
    a small one with a large weight is seen more often.

    Args:
        sizes: Samples of each shard, as in a ``ConcatDataset``.
        weights: Whole numbers: ``[7, 2, 1]`` for 70, 20 and 10 percent.

    Raises:
        ConfigError: A size or a weight is below 1, or there is not one weight for each size.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[int]) -> None:
        sizes = [whole_number("a shard's size", size) for size in sizes]
        weights = [whole_number("a shard's weight", weight) for weight in weights]
        if not sizes or len(sizes) != len(weights) or min(*sizes, *weights) < 1:
            raise ConfigError(
                f"shards of {list(sizes)} samples with weights {list(weights)}: each needs a size "
                "and a weight, whole numbers of at least 1; leave out what is not to be seen"
            )
        self._sizes = tuple(sizes)
        self._weights = tuple(weights)
        self._first_ids = (0, *accumulate(self._sizes))
        self._first_slots = (0, *accumulate(self._weights))

    @property
    def size(self) -> int:
        """Samples of all shards."""
        return self._first_ids[-1]

    @property
    def epoch_samples(self) -> int:
        """As many as there are, whichever they will have been: a mixture has no other epoch."""
        return self.size

    def id_at(self, index: int, *, seed: int, shuffle: bool) -> int:
        """Return the sample at an index."""
        turn, place = divmod(index, self._first_slots[-1])
        slot = place
        if shuffle:
            slot = _permutation(self._first_slots[-1], seed=f"{seed}/turn", epoch=turn)[place]
        shard = bisect_right(self._first_slots, slot) - 1
        # Which of the shard's own samples, of all that it ever gives: each turn has its weight.
        drawn = turn * self._weights[shard] + slot - self._first_slots[shard]
        epoch, place = divmod(drawn, self._sizes[shard])
        if shuffle:
            place = _permutation(self._sizes[shard], seed=f"{seed}/{shard}", epoch=epoch)[place]
        return self._first_ids[shard] + place

    def describe(self) -> dict[str, Json]:
        """Return sizes and weights."""
        pairs = zip(self._sizes, self._weights, strict=True)
        return {"shards": [[size, weight] for size, weight in pairs]}
