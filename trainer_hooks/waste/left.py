"""Whether an attempt has left in order, by the last line of its ledger."""

import json
import os
from pathlib import Path

from trainer_hooks.waste.ledger import FOLDER
from trainer_hooks.waste.records import End, from_json

_TAIL_BYTES = 4096
"""More than the longest last line has."""


def has_left(root: Path, attempt: int) -> bool:
    """Tell whether an attempt has written that it leaves; one that was killed has not.

    Args:
        root: The checkpoint directory.
        attempt: Number of the attempt.
    """
    return any(_ends(path) for path in (root / FOLDER).glob(f"a{attempt}-*.jsonl"))


def _ends(path: Path) -> bool:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).splitlines()
        return bool(lines) and isinstance(from_json(json.loads(lines[-1])), End)
    except (OSError, ValueError, RecursionError):
        return False  # not known: whoever asks finds out in another way
