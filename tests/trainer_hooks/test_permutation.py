"""The order of the data: a bijection, scattered, and the same for ever."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trainer_hooks.permutation import Permutation


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
