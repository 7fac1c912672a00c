"""The Checkpointer as a way to save, on a file system and in a bucket; and one part switched off.

There is no switch for digests. A bench takes them out to see what they cost, and nobody else may.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from unittest.mock import patch

import xxhash
from torch.distributed.checkpoint.staging import DefaultStager

from lab.saves import Times, Way
from lab.spread import SpreadState
from trainer_hooks.checkpoint import saver
from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.layout import Attempt
from trainer_hooks.checkpoint.place import Place, bytes_in
from trainer_hooks.checkpoint.resume import Verify, resume
from trainer_hooks.checkpoint.saver import Checkpointer
from trainer_hooks.world import World

COMMIT_LIMIT_S = 120.0


class _NoDigest:
    """Stands in for a digest, and looks at nothing."""

    def update(self, _: object) -> None:
        """Do nothing."""

    def hexdigest(self) -> str:
        """Return what no file has."""
        return "0" * 32


class Ours(Way):
    """A save of ours, up to the commit, and a resume.

    Args:
        state: What is saved.
        world: The ranks.
        root: Where to, the same for all of them.
        stager: What copies the tensors. Ways that never save at the same time share one, or the
            machine would hold the state once for each.
    """

    def __init__(
        self, state: SpreadState, world: World, root: Place, stager: DefaultStager
    ) -> None:
        self._state = state.train_state
        self._world = world
        self._stager = stager
        self._root = root
        self._saved = root
        self._checkpointer = self._opened()

    def save(self, number: int) -> Times:
        """Save, and hold training up for the capture and for all that ``Checkpointer.save`` does.

        Raises:
            RuntimeError: It was not committed.
        """
        began = perf_counter()
        self._checkpointer.save(self._state.capture(number))
        stall_s = perf_counter() - began
        self._checkpointer.wait(None)
        durable_s = perf_counter() - began
        if self._checkpointer.last is None or self._checkpointer.failure is not None:
            raise RuntimeError(self._checkpointer.failure)
        self._saved = self._checkpointer.last.directory
        return Times(stall_s, durable_s)

    def loads(self) -> Mapping[str, Callable[[], object]]:
        """Resume, having compared every byte's digest, or having taken shards on trust."""
        again = partial(resume, self._root, self._state, self._world)
        return {
            "load_s": partial(again, verify=Verify.ALL),
            "load_on_trust_s": partial(again, verify=Verify.SIZES),
        }

    def saved_bytes(self) -> int:
        """Count what is in the save's directory."""
        return bytes_in(self._saved)

    def remove(self) -> None:
        """Remove it, past all that would keep it."""
        shutil.rmtree(str(self._saved))

    def _opened(self) -> Checkpointer:
        """Start an attempt at the root. All ranks call it."""
        is_first = self._world.is_coordinator
        attempt = start_attempt(self._root) if is_first else Attempt(0, "0000")
        attempt = self._world.from_coordinator(attempt)
        with patch.object(saver, "open_stager", lambda: self._stager):
            return Checkpointer(
                self._root,
                self._world,
                attempt,
                save_every_steps=1,
                commit_timeout_s=COMMIT_LIMIT_S,
            )


class OursUndigested(Ours):
    """The same without a digest of what DCP writes; so nothing can be resumed from it."""

    def save(self, number: int) -> Times:
        """Save."""
        with _no_digests():
            return super().save(number)

    def loads(self) -> Mapping[str, Callable[[], object]]:
        """Return nothing."""
        return {}


@contextmanager
def _no_digests() -> Iterator[None]:
    with patch.object(xxhash, "xxh3_128", _NoDigest):
        yield
