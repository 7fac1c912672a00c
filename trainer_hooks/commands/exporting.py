"""The command that takes the weights out of a checkpoint: ``export``."""

from argparse import Namespace
from datetime import UTC, datetime

from trainer_hooks.checkpoint.latest import (
    Checkpoint,
    damaged_files,
    latest_committed,
    open_checkpoint,
)
from trainer_hooks.checkpoint.pins import reading
from trainer_hooks.commands.choosing import chosen, saves_in
from trainer_hooks.commands.progress import progress
from trainer_hooks.commands.show import show
from trainer_hooks.errors import CheckpointError


def export_checkpoint(options: Namespace) -> int:
    """Write the weights of a checkpoint, whose every byte was checked, to a file."""
    from trainer_hooks.checkpoint.export import export_weights  # noqa: PLC0415 - --help needs no torch

    checkpoint = _checkpoint(options)
    total = sum(entry.size for entry in checkpoint.marker.files)
    name = checkpoint.marker.name
    with reading(options.directory, name, datetime.now(UTC)):
        with progress(f"checking {name}", total) as on_bytes:
            damage = damaged_files(checkpoint, on_bytes=on_bytes)
        if damage:
            raise CheckpointError(f"{name} is not exported, these files are damaged: {damage}")
        with progress(f"exporting {name}", total) as on_bytes:
            count = export_weights(checkpoint, options.to, on_bytes)
    show(f"{options.to}  {count} tensors of {name}")
    return 0


def _checkpoint(options: Namespace) -> Checkpoint:
    root = options.directory
    if options.name is not None:
        (name,) = chosen(root, [options.name])
        return open_checkpoint(root / str(name))
    saves_in(root)
    newest = latest_committed(root)
    if newest is None:
        raise CheckpointError(f"no committed checkpoint in {root}")
    return newest
