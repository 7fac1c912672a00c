"""Digests of tensors: alike when the bits are, else not."""

import pytest
import torch
from torch import nn

from trainer_hooks.bits import digest

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
