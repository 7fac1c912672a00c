"""Meta's torch-checkpointing as a way to save: a process of its own writes what was staged.

It syncs neither files nor directories: what it calls written may be in the page cache only. Two of
its parts are left out, which cannot work here (0.1.1, 2026-11-30): O_DIRECT, for it writes what is
not aligned and ext4 refuses that, and what lets another number of ranks load, its resharder, for it
gathers sizes on CUDA.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from torch.distributed.checkpoint.state_dict import set_model_state_dict, set_optimizer_state_dict

from lab.saves import Plain, Times
from lab.spread import SpreadState
from trainer_hooks.world import World

try:
    from torch_checkpointing import CheckpointManager
    from torch_checkpointing.storage.filesystem import LocalFileSystemStorageConfig
except ImportError as error:
    MISSING: str | None = f"it cannot be imported: {error}"
else:
    MISSING = None

_LOOK_S = 0.5


class BySubprocess(Plain):
    """Its CheckpointManager as it comes, which stages in a thread and writes in a process.

    Args:
        state: What is saved.
        world: The ranks.
        root: An empty directory, the same for all of them.
    """

    def __init__(self, state: SpreadState, world: World, root: Path) -> None:
        super().__init__(state, world, root)
        self._manager = CheckpointManager(
            CheckpointManager.Config(
                storage_config=LocalFileSystemStorageConfig(use_direct_io=False),
                subprocess_init_fn=_follow,
                subprocess_init_args=(os.getpid(),),
            )
        )

    def save(self, number: int) -> Times:
        """Save, and hold training up until it may change the state: while its lock is held."""
        self._saved = self._root / str(number)
        began = perf_counter()
        written: Any = self._manager.save(str(self._saved), self._parts())
        with self._manager.lock():
            stall_s = perf_counter() - began
        written.result()
        return Times(stall_s, perf_counter() - began)

    def loads(self) -> Mapping[str, Callable[[], object]]:
        """Load it into the state."""
        return {"load_s": self._load}

    def close(self) -> None:
        """End its process."""
        self._manager.close()

    def _load(self) -> None:
        loaded = self._manager.load(str(self._saved), into=self._parts())
        set_model_state_dict(self._state.model, loaded["model"])
        set_optimizer_state_dict(self._state.model, self._state.optimizer, loaded["optimizer"])


def _follow(parent: int) -> None:
    """Let its process be quiet, and end with the rank also where that is killed."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    logging.disable(logging.WARNING)
    threading.Thread(target=look, daemon=True).start()
