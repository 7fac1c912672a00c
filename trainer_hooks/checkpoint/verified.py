"""When a checkpoint of this run was last found good, for whoever watches over the run."""

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from trainer_hooks.checkpoint.marks import Mark, names_with, read_mark
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.errors import CheckpointError
from trainer_hooks.untrusted import Json

_NEWEST = 8
"""How many marks are read for the latest good one: who looks regularly takes the newest saves."""


class Verified:
    """Keeps the instant at which the last closer look has found nothing wrong.

    A resume that has compared every digest counts, and so does ``checkpoints verify --deep``, which
    leaves a mark.

    Args:
        root: The checkpoint directory; None on a rank that does not keep it, and knows nothing.
    """

    def __init__(self, root: Place | None) -> None:
        self._root = root
        self.at: float | None = None
        """In seconds of Unix time; None if that was never, or is not known."""

    def note(self) -> None:
        """Note that this run has just resumed from one, byte for byte."""
        if self._root is not None:
            self.at = time.time()

    def look(self) -> None:
        """Look what others have found meanwhile; what can't be read changes nothing. Blocks."""
        if self._root is None:
            return
        with suppress(CheckpointError):
            for name in sorted(names_with(self._root, Mark.VERIFIED), reverse=True)[:_NEWEST]:
                found = _good_at(read_mark(self._root, Mark.VERIFIED, name))
                self.at = max(self.at or 0.0, found) or None


def _good_at(mark: Mapping[str, Json]) -> float:
    match mark:
        case {"at": str(text), "level": "load", "damage": []}:
            with suppress(ValueError, OverflowError):
                return datetime.fromisoformat(text).timestamp()
    return 0.0
