"""Digests of parameters: alike when the bits are, else not; and who is taken to be wrong."""

import pytest
import torch
from torch import nn

from trainer_hooks.health.replicas import Difference, Said, difference, digest, replicated

TYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.float8_e4m3fn,
    torch.complex64,
]


def parameter(dtype: torch.dtype = torch.float32) -> nn.Parameter:
    """Return three by five numbers, the same at each call."""
    numbers = torch.rand(3, 5, generator=torch.Generator().manual_seed(1))
    return nn.Parameter(numbers.to(dtype))


def said(*digests: str, first: tuple[int | None, ...]) -> list[Said]:
    """Return what the ranks say."""
    return [
        Said(rank=rank, digest=digest_, first=number)
        for rank, (digest_, number) in enumerate(zip(digests, first, strict=True))
    ]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_digest_differs_when_one_bit_does(dtype: torch.dtype) -> None:
    """Any bit of any byte; and is the same when nothing does."""
    good = digest([parameter(dtype)]).tolist()
    assert digest([parameter(dtype)]).tolist() == good
    for byte in range(15 * dtype.itemsize):
        for bit in (1, 64, 128):
            other = parameter(dtype)
            flat = other.data.reshape(-1).view(torch.uint8)
            flat[byte] ^= bit
            assert digest([other]).tolist() != good


def test_digest_is_the_same_when_a_value_is_no_number() -> None:
    """NaN is not equal to itself; its bits are."""
    broken = nn.Parameter(torch.tensor([float("nan"), 1.0]))
    assert digest([broken]).tolist() == digest([broken]).tolist()


def test_digest_names_each_parameter_when_shapes_and_types_are_odd() -> None:
    """A scalar, an empty one, a transposed one and one of two bytes."""
    odd = [
        nn.Parameter(torch.tensor(3.0)),
        nn.Parameter(torch.empty(0)),
        nn.Parameter(torch.rand(2, 3).T),
        nn.Parameter(torch.rand(3, dtype=torch.bfloat16)),
    ]
    assert digest(odd).shape == (4,)
    assert digest(odd).dtype == torch.int64


def test_nothing_is_replicated_when_no_ddp_is_there() -> None:
    """A plain module's parameters may be anything on other ranks."""
    assert replicated(nn.Linear(2, 2), ranks=2) == {}


def test_nobody_differs_when_all_say_the_same() -> None:
    """The usual case."""
    assert difference(said("a", "a", "a", first=(None, None, None))) is None


@pytest.mark.parametrize(
    ("digests", "first", "found"),
    [
        (("a", "b", "a"), (None, 4, None), Difference(ranks=(1,), is_certain=True, first=4)),
        (("b", "a", "a"), (None, 2, 2), Difference(ranks=(0,), is_certain=True, first=2)),
        (("a", "b"), (None, 0), Difference(ranks=(0, 1), is_certain=False, first=0)),
        (
            ("a", "b", "c", "a"),
            (None, 7, 3, None),
            Difference(ranks=(0, 1, 2, 3), is_certain=False, first=3),
        ),
    ],
    ids=["one", "rank-0", "two-ranks", "half"],
)
def test_odd_ranks_are_named_when_more_than_half_are_alike(
    digests: tuple[str, ...], first: tuple[int | None, ...], found: Difference
) -> None:
    """And all of them where nobody has a majority."""
    assert difference(said(*digests, first=first)) == found
