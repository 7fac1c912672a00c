"""Telling a weights-only export from a checkpoint: nothing is resumed from one.

It has no optimizer, no schedule and no data position; what went on from it would be another run.
"""

import json

from trainer_hooks.checkpoint.layout import saves
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.errors import DirectoryError

SUFFIX = ".safetensors"
EXPORT_KEY = "reprieve_export_of"
"""In the file's own metadata: the checkpoint that it was made of."""

MAX_HEADER_BYTES = 100_000_000
"""The format's own limit. Source: https://github.com/huggingface/safetensors (read 2026-11-30)."""


def refuse_export(root: Place) -> None:
    """See that a checkpoint directory is no export, nor one that holds nothing but exports.

    Raises:
        DirectoryError: It is; names the checkpoint that the export was made of.
    """
    if saves(root):
        return
    within: list[Place] = [*root.iterdir()] if root.is_dir() else []
    for path in [root] if root.is_file() else within:
        if path.suffix != SUFFIX:
            continue
        if (origin := origin_of(path)) is not None:
            raise DirectoryError(
                f"{path} is a weights-only export of {origin}, and no training resumes from it: "
                "it has neither optimizer nor data position. Name the directory of the checkpoint, "
                "or move the export away to start from the beginning"
            )


def origin_of(path: Place) -> str | None:
    """Return what checkpoint a file was exported from; None for any other file."""
    try:
        if not path.is_file():  # to open a fifo is to wait for who writes to it
            return None
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if length < MAX_HEADER_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    match header:
        case {"__metadata__": {"reprieve_export_of": str(origin)}}:
            return origin
    return None
