"""Random numbers: the next ones are the same after a restore, and nothing is pickled."""

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from trainer_hooks.errors import StateError
from trainer_hooks.rng import capture_rng, restore_rng, seed_rng


@pytest.fixture(autouse=True)
def own_numbers() -> Iterator[None]:
    """Leave the generators of the other tests alone."""
    before = capture_rng()
    yield
    restore_rng(before)


def draw() -> list[Any]:
    """Draw from every generator, in all the ways that keep something back for the next draw."""
    return [
        random.getrandbits(53),
        random.gauss(0, 1),  # keeps the second of a pair
        np.random.standard_normal(),  # noqa: NPY002 - keeps the second of a pair, too
        np.random.randint(1 << 30),  # noqa: NPY002 - the global state is what must come back
        torch.rand(3).tolist(),
        torch.randn(5).tolist(),
    ]


@pytest.mark.parametrize("drawn", [0, 1, 700])
def test_next_numbers_are_the_same_when_the_state_was_written_and_read(drawn: int) -> None:
    """Through JSON, as in a checkpoint; 624 numbers exhaust a Mersenne Twister's block."""
    seed_rng(1, 2, 3)
    for _ in range(drawn):
        draw()
    written = json.dumps(capture_rng(), allow_nan=False)
    expected = [draw(), draw()]
    seed_rng(9, 9, 9)
    restore_rng(json.loads(written))
    assert [draw(), draw()] == expected


def test_capture_draws_nothing_when_it_is_taken() -> None:
    """A save must not change the training."""
    seed_rng(1, 2, 3)
    expected = draw()
    seed_rng(1, 2, 3)
    capture_rng()
    assert draw() == expected


def test_seeding_is_the_pinned_one_when_versions_change() -> None:
    """A job resumed by another number of ranks goes on alike on every machine."""
    seed_rng(7, 300, 3)
    assert random.getrandbits(64) == 7147517680904192316
    assert np.random.randint(1 << 30) == 295308354  # noqa: NPY002 - the global state is what is seeded
    assert torch.initial_seed() == 3118086067116669381


def test_seeding_differs_when_seed_step_or_rank_does() -> None:
    """No two ranks draw the same dropout, no two steps the same augmentation."""
    firsts = set()
    for seed in (0, 1):
        for step in (0, 1, 10):
            for rank in (0, 1, 10):
                seed_rng(seed, step, rank)
                firsts.add((random.getrandbits(53), torch.rand(1).item()))
    assert len(firsts) == 18


def without(key: str) -> dict[str, Any]:
    """Return a captured state that lacks a part."""
    return {name: part for name, part in capture_rng().items() if name != key}


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        *[without(key) for key in ("python", "numpy", "torch", "cuda")],
        capture_rng() | {"python": None},
        capture_rng() | {"python": {"$tuple": [3, {"$tuple": [1, 2]}, None]}},
        capture_rng() | {"python": {"$tuple": [3, {"$tuple": [10**30] * 625}, None]}},
        capture_rng() | {"numpy": 1},
        capture_rng() | {"numpy": ["PCG64", [], 0, 0, 0.0]},
        capture_rng() | {"numpy": ["MT19937", [1, 2, 3], 0, 0, 0.0]},
        capture_rng() | {"torch": "zz"},
        capture_rng() | {"torch": "00ff"},
        capture_rng() | {"torch": None},
        capture_rng() | {"cuda": None},
    ],
)
def test_state_is_refused_when_it_is_damaged(damaged: dict[str, Any]) -> None:
    """Resuming with other numbers would be a silent difference."""
    with pytest.raises(StateError):
        restore_rng(damaged)


def test_state_is_refused_when_it_is_of_another_number_of_devices() -> None:
    """Whose generator would be whose?"""
    devices = torch.cuda.device_count()
    captured = capture_rng() | {"cuda": ["00"] * (devices + 1)}
    with pytest.raises(StateError, match=f"captured on {devices + 1} CUDA devices"):
        restore_rng(captured)
