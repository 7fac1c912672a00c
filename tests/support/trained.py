"""A real checkpoint of a run of one process, and damage that no digest shows."""

import json
from pathlib import Path
from typing import Any

from torch.distributed import HashStore

from tests.support.training import Run
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.latest import Checkpoint, latest_committed
from trainer_hooks.checkpoint.layout import MARKER
from trainer_hooks.checkpoint.manifest import digest_of_file, sealed
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.world import World


def saved(root: Path, run: Run) -> Checkpoint:
    """Commit a checkpoint of a run after one step."""
    run.step()
    store: Any = HashStore()
    world = World(rank=0, size=1, store=store, group=None)
    checkpointer = Checkpointer(root, world, start_attempt(root), save_every_steps=1)
    checkpointer.save(run.state.capture(1))
    assert checkpointer.wait(None)
    assert checkpointer.failure is None
    checkpointer.close()
    checkpoint = latest_committed(root)
    assert checkpoint is not None
    return checkpoint


def mark_again(directory: Path) -> None:
    """Write the marker anew for what the files are now, as if they had been written so."""
    body = json.loads((directory / MARKER).read_text())
    del body["digest"]
    for entry in body["files"]:
        path = directory / entry["name"]
        entry |= {"size": path.stat().st_size, "digest": digest_of_file(path)}
    (directory / MARKER).write_bytes(sealed(body))
