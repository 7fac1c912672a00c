"""The order of the data: a bijection, scattered, and the same for ever."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from trainer_hooks.permutation import Permutation, _mix


def order(size: int, *, seed: int = 0, epoch: int = 0) -> list[int]:
    """Return a whole permutation."""
    permutation = Permutation.of(size, seed=seed, epoch=epoch)
    return [permutation[index] for index in range(size)]


@given(size=st.integers(1, 5000), seed=st.integers(), epoch=st.integers(0, 10**9))
@example(size=1, seed=0, epoch=0)
@example(size=4**6, seed=0, epoch=0)
@example(size=4**5 + 1, seed=0, epoch=0)
def test_permutation_holds_each_element_once_when_its_size_is_anything(
    size: int, seed: int, epoch: int
) -> None:
    """No sample is seen twice in an epoch, and none left out."""
    assert sorted(order(size, seed=seed, epoch=epoch)) == list(range(size))


@given(size=st.integers(1, 2**63), seed=st.integers(), share=st.floats(0, 1, exclude_max=True))
def test_permutation_stays_inside_when_its_size_is_huge(size: int, seed: int, share: float) -> None:
    """Any element is reached at once, at any size."""
    permutation = Permutation.of(size, seed=seed, epoch=0)
    assert 0 <= permutation[min(size - 1, int(share * size))] < size


@pytest.mark.parametrize(
    ("size", "seed", "epoch", "elements"),
    [
        (1, 0, 0, [0]),
        (10, 0, 0, [2, 5, 7, 9, 4, 3, 6, 1, 8, 0]),
        (10, 0, 1, [9, 1, 8, 6, 2, 3, 5, 4, 7, 0]),
        (10, -1, 0, [4, 6, 0, 2, 5, 1, 3, 9, 7, 8]),
        (10**12, 7, 3, [425207090773, 971368819838, 649914421786]),
        (2**63 - 25, 7, 3, [948310734301365135, 1141085898100894048]),
    ],
)
def test_permutation_is_the_pinned_one_when_the_code_changes(
    size: int, seed: int, epoch: int, elements: list[int]
) -> None:
    """A position that an older version has saved must mean the same samples."""
    permutation = Permutation.of(size, seed=seed, epoch=epoch)
    assert [permutation[index] for index in range(len(elements))] == elements


def index_of(permutation: Permutation, element: int) -> int:
    """Return where an element stands, by walking the network backwards."""
    low_mask = (1 << permutation.half_bits) - 1
    while True:
        left, right = element >> permutation.half_bits, element & low_mask
        for key in reversed(permutation.keys):
            left, right = right ^ (_mix(left ^ key) & low_mask), left
        element = left << permutation.half_bits | right
        if element < permutation.size:
            return element


def test_permutation_is_exact_when_its_size_is_small() -> None:
    """At every size up to 256: each element once."""
    for size in range(1, 257):
        assert sorted(order(size, seed=size)) == list(range(size))


@given(size=st.integers(1, 2**63), seed=st.integers(), share=st.floats(0, 1, exclude_max=True))
@example(size=10**12, seed=7, share=0.5)
def test_permutation_is_undone_when_its_size_is_huge(size: int, seed: int, share: float) -> None:
    """Each element leads back to its index, so that no two indices share one."""
    permutation = Permutation.of(size, seed=seed, epoch=3)
    index = min(size - 1, int(share * size))
    assert index_of(permutation, permutation[index]) == index


@pytest.mark.parametrize("size", [10**9, 10**12, 2**40 + 1])
@pytest.mark.parametrize("start", [0, 10**8])
def test_elements_are_uniform_and_independent_when_their_size_is_huge(
    size: int, start: int
) -> None:
    """Of 20,000 in a row: chi-square of 100 cells, of 10 x 10 cells of neighbours, no trend."""
    permutation = Permutation.of(size, seed=1, epoch=0)
    shares = np.array([permutation[start + index] / size for index in range(20_000)])
    assert len(set(shares)) == len(shares)
    cells = np.bincount((shares * 100).astype(int), minlength=100)
    assert 50 < chi_square(cells) < 160  # 99 degrees of freedom: one in ten thousand is outside
    pairs = (shares[:-1] * 10).astype(int) * 10 + (shares[1:] * 10).astype(int)
    assert 50 < chi_square(np.bincount(pairs, minlength=100)) < 160
    assert abs(np.corrcoef(np.arange(len(shares)), shares)[0, 1]) < 0.03  # four sigma


def chi_square(counts: NDArray[np.int64]) -> float:
    """Return how far counts are from equal ones."""
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("size", [2, 3, 5, 10, 64])
def test_each_place_may_hold_any_element_when_the_seed_is_another(size: int) -> None:
    """Over 4,000 seeds, as often as by chance."""
    drawn = [Permutation.of(size, seed=seed, epoch=0)[size // 2] for seed in range(4000)]
    assert chi_square(np.bincount(drawn, minlength=size)) < size + 5 * (2 * size) ** 0.5


@pytest.mark.parametrize("seed", range(5))
def test_permutation_scatters_when_neighbours_are_compared(seed: int) -> None:
    """Neighbours stay neighbours, and halves stay halves, no more often than by chance."""
    elements = order(4000, seed=seed)
    still_neighbours = sum(abs(one - other) == 1 for one, other in pairwise(elements))
    assert still_neighbours < 20  # 2 expected
    assert 850 < sum(element < 2000 for element in elements[:2000]) < 1150  # 1000 expected


def test_permutation_is_another_one_when_seed_or_epoch_is() -> None:
    """And equal for equal ones."""
    orders = [order(1000, seed=seed, epoch=epoch) for seed in (0, 1, 10) for epoch in (0, 1, 10)]
    assert len({tuple(elements) for elements in orders}) == 9
    assert order(1000, seed=1, epoch=10) == order(1000, seed=1, epoch=10)


@pytest.mark.parametrize("index", [-1, 10])
def test_permutation_is_refused_when_the_index_lies_outside(index: int) -> None:
    """It would be some element all the same, and a sample would be seen twice."""
    with pytest.raises(IndexError):
        Permutation.of(10, seed=0, epoch=0)[index]
