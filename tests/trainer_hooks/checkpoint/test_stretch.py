"""A stretch in pieces reads as the same bytes in one piece do."""

import io
import os
import random
from typing import Any

import pytest
import torch

from trainer_hooks.checkpoint.stretch import Stretch

DATA = random.Random(3).randbytes(200)  # noqa: S311 - a test's dice


def in_pieces(data: bytes, *ends: int) -> Stretch:
    """Return a stretch over pieces that end there."""
    view = memoryview(data)
    begins = (0, *ends)
    return Stretch([view[a:b] for a, b in zip(begins, (*ends, len(data)), strict=True)])


@pytest.mark.parametrize("ends", [(), (1,), (50, 50, 51, 199), tuple(range(0, 200, 7))])
def test_stretch_reads_as_one_piece_when_it_is_read_anywhere(ends: tuple[int, ...]) -> None:
    """From any place, so many bytes, across pieces and past the end."""
    stretch, whole = in_pieces(DATA, *ends), io.BytesIO(DATA)
    draw = random.Random(4)  # noqa: S311 - likewise
    for _ in range(300):
        at, length = draw.randrange(220), draw.randrange(220)
        assert stretch.seek(at) == whole.seek(at) == stretch.tell()
        assert stretch.read(length) == whole.read(length)
        assert stretch.tell() == whole.tell()
    assert stretch.seek(-10, os.SEEK_END) == whole.seek(-10, os.SEEK_END)
    assert stretch.seek(3, os.SEEK_CUR) == whole.seek(3, os.SEEK_CUR)
    assert stretch.read() == whole.read() == DATA[-7:]


def test_stretch_is_empty_when_it_has_no_pieces() -> None:
    """As that of an item of no bytes."""
    stretch = Stretch([])
    assert (len(stretch), stretch.read()) == (0, b"")


def test_tensor_comes_back_when_its_file_is_in_pieces() -> None:
    """torch reads a storage at one go, and takes no less than all of it."""
    tensor, file = torch.arange(1000.0), io.BytesIO()
    torch.save(tensor, file)
    data = file.getvalue()
    stretch: Any = in_pieces(data, *range(100, len(data), 100))
    loaded = torch.load(stretch, weights_only=True)
    assert torch.equal(loaded, tensor)
