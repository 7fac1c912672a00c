"""A rank's state file: written whole, and never one that no resume would read."""

import json
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import HashStore

from trainer_hooks.checkpoint import rank_state
from trainer_hooks.checkpoint.layout import state_file
from trainer_hooks.checkpoint.manifest import digest_of_file
from trainer_hooks.checkpoint.rank_state import read_rank_state, write_rank_state
from trainer_hooks.errors import CheckpointError
from trainer_hooks.state import Snapshot
from trainer_hooks.untrusted import MAX_DEPTH
from trainer_hooks.world import World

STORE: Any = HashStore()
WORLD = World(rank=1, size=2, store=STORE, group=None)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return the directory of a save."""
    (tmp_path / "state").mkdir()
    return tmp_path


def snapshot(value: Any = 1) -> Snapshot:  # noqa: ANN401 - any JSON
    """Return a snapshot with a value in it."""
    return Snapshot(step=7, tensors={}, leaves={"data": value}, rng={"torch": "00"})


def nested(levels: int) -> object:
    """Return lists in lists."""
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_state_comes_back_when_it_was_written(directory: Path) -> None:
    """With an entry for the manifest that fits the file."""
    entry = write_rank_state(directory, snapshot({"a": [1, None]}), WORLD)
    assert entry.name == state_file(1)
    assert entry.size == (directory / entry.name).stat().st_size
    assert entry.digest == digest_of_file(directory / entry.name)
    state = read_rank_state(directory, 1)
    assert (state.step, state.world_size) == (7, 2)
    assert (state.leaves, state.rng) == ({"data": {"a": [1, None]}}, {"torch": "00"})


def test_state_is_refused_when_a_resume_would_find_it_too_large(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the save, while the job that made it lives; up to the limit it comes back."""
    size = write_rank_state(directory, snapshot("x" * 1000), WORLD).size
    monkeypatch.setattr(rank_state, "MAX_STATE_BYTES", size)
    assert read_rank_state(directory, 1).leaves == {"data": "x" * 1000}
    with pytest.raises(CheckpointError, match=f"takes {size + 1} bytes"):
        write_rank_state(directory, snapshot("x" * 1001), WORLD)


def test_state_is_refused_when_a_resume_would_find_it_too_deep(directory: Path) -> None:
    """Likewise."""
    levels = MAX_DEPTH - 2
    write_rank_state(directory, snapshot(nested(levels)), WORLD)
    assert read_rank_state(directory, 1).leaves == {"data": nested(levels)}
    with pytest.raises(CheckpointError, match=f"at most {MAX_DEPTH} levels"):
        write_rank_state(directory, snapshot(nested(levels + 1)), WORLD)


GOOD = {"schema": 1, "step": 7, "world_size": 2, "rng": {}, "leaves": {}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        *[json.dumps({k: v for k, v in GOOD.items() if k != key}) for key in GOOD],
        *[json.dumps(GOOD | {key: None}) for key in GOOD],
        json.dumps(GOOD | {"schema": 2}),
    ],
)
def test_state_is_refused_when_it_is_not_one(directory: Path, text: str) -> None:
    """By its path."""
    (directory / state_file(0)).write_text(text)
    with pytest.raises(CheckpointError, match=r"rank_00000\.json"):
        read_rank_state(directory, 0)


def test_state_is_refused_when_it_is_missing(directory: Path) -> None:
    """A rank of a larger world has none."""
    with pytest.raises(CheckpointError, match="cannot be used"):
        read_rank_state(directory, 5)
