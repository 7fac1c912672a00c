"""The checkpointer in a container of Azure's, as its emulator plays it."""

from collections.abc import Iterator
from typing import Any

import pytest
from torch.distributed import HashStore

from tests.support.azurite import CONTAINER, azurite
from tests.support.training import Run, plain
from trainer_hooks.checkpoint import parts
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import damaged_files, latest_committed
from trainer_hooks.checkpoint.place import ObjectPlace, place_of
from trainer_hooks.checkpoint.resume import resume
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.world import World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ranks,
    pytest.mark.filterwarnings("ignore:torch.distributed is disabled"),
]


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPlace]:
    """Return an empty part of a container."""
    monkeypatch.setattr(parts, "PART_BYTES", 1000)
    with azurite() as endpoint:
        monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
        monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", endpoint)
        place = place_of(f"az://{CONTAINER}/run-7")
        assert isinstance(place, ObjectPlace)
        yield place


def test_object_is_created_only_once(root: ObjectPlace) -> None:
    """By the store itself: a conditional put."""
    assert root.bucket.creates_once
    root.bucket.create("marker", b"first")
    with pytest.raises(FileExistsError):
        root.bucket.create("marker", b"second")
    assert root.bucket.get("marker") == b"first"


def test_state_comes_back_when_it_was_saved_in_a_container(root: ObjectPlace) -> None:
    """Two saves; the newer one is found, is whole, and is resumed from."""
    store: Any = HashStore()
    world, run = World(rank=0, size=1, store=store, group=None), Run()
    saver = Checkpointer(root, world, start_attempt(root), save_every_steps=1)
    for step in (1, 2):
        run.step()
        saver.save(run.state.capture(step))
        assert saver.wait(None)
        assert saver.failure is None
    saver.close()
    newest = latest_committed(root)
    assert newest is not None
    assert (newest.step, damaged_files(newest)) == (2, [])
    other = Run(seed=5)
    assert resume(root, other.state, world) is not None
    for mine, theirs in zip(run.all()[:3], other.all()[:3], strict=True):
        assert plain(mine) == plain(theirs)
