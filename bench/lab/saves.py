"""Ways to save a training state and to load it again, and those of torch itself."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import xxhash
from torch.distributed.checkpoint.staging import DefaultStager
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from lab.spread import SpreadState
from trainer_hooks.checkpoint.place import bytes_in
from trainer_hooks.world import World

_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Times:
    """What one save has taken a rank, from when it began."""

    stall_s: float
    """Until training could go on."""
    durable_s: float
    """Until this rank knew that the save was done."""


class Way(ABC):
    """One way. All ranks make one, and call it alike and at once."""

    @abstractmethod
    def save(self, number: int) -> Times:
        """Save, and wait until that is done."""

    def loads(self) -> Mapping[str, Callable[[], object]]:
        """Return what loads the last save into the state, under the name of the figure."""
        return {}

    def reads(self) -> Mapping[str, Callable[[], object]]:
        """Return what reads the bytes of the last save, and brings no state back."""
        return {}

    @abstractmethod
    def saved_bytes(self) -> int:
        """Return the size of the last save, by all ranks. One rank asks."""

    @abstractmethod
    def remove(self) -> None:
        """Remove the last save. One rank calls it, when nobody needs it any more."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what it holds."""


class Plain(Way):
    """torch.distributed.checkpoint as its documentation has it.

    Args:
        state: What is saved.
        world: The ranks.
        root: An empty directory, the same for all of them.
    """

    def __init__(self, state: SpreadState, world: World, root: Path) -> None:
        self._state = state
        self._group = world.group
        self._root = root
        self._saved = root

    def save(self, number: int) -> Times:
        """Save, and hold training up until all of it is durable."""
        self._saved = self._root / str(number)
        began = perf_counter()
        dcp.save(self._parts(), checkpoint_id=self._saved, process_group=self._group)
        took_s = perf_counter() - began
        return Times(took_s, took_s)

    def saved_bytes(self) -> int:
        """Count what is in the directory."""
        return bytes_in(self._saved)

    def remove(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self._saved)

    def _parts(self) -> dict[str, Any]:
        return {
            "model": get_model_state_dict(self._state.model),
            "optimizer": get_optimizer_state_dict(self._state.model, self._state.optimizer),
        }


class PlainAsync(Plain):
    """The same in the background.

    Args:
        state: What is saved.
        world: The ranks.
        root: An empty directory, the same for all of them.
        stager: Copies the tensors into buffers that it has already; None for new ones each time,
            as it is by default.
    """

    def __init__(
        self, state: SpreadState, world: World, root: Path, stager: DefaultStager | None = None
    ) -> None:
        super().__init__(state, world, root)
        self._stager = stager

    def save(self, number: int) -> Times:
        """Save, and hold training up while tensors are copied."""
        self._saved = self._root / str(number)
        began = perf_counter()
        durable = dcp.async_save(
            self._parts(),
            checkpoint_id=self._saved,
            process_group=self._group,
            async_stager=self._stager,
        )
        stall_s = perf_counter() - began
        cast("Any", durable).result()
        return Times(stall_s, perf_counter() - began)

    def loads(self) -> Mapping[str, Callable[[], object]]:
        """Load it; the other ways of torch's have written the same, and need no figure."""
        return {"load_s": self._load} if self._stager is None else {}

    def reads(self) -> Mapping[str, Callable[[], object]]:
        """Digest what this rank has written, with xxHash's own library and nothing of ours."""
        return {"digests_s": self._digest} if self._stager is None else {}

    def _digest(self) -> None:
        digest = xxhash.xxh3_128()
        for path in self._saved.glob(f"__{dist.get_rank()}_*"):
            with path.open("rb", buffering=0) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)

    def _load(self) -> None:
        parts = self._parts()
        dcp.load(parts, checkpoint_id=self._saved, process_group=self._group)
        set_model_state_dict(self._state.model, parts["model"])
        set_optimizer_state_dict(self._state.model, self._state.optimizer, parts["optimizer"])
