"""``reprieve-trainer checkpoints``: which command does what."""

from argparse import Namespace

from trainer_hooks.checkpoint.place import place_of
from trainer_hooks.commands.changing import (
    collect_garbage,
    pin_checkpoints,
    quarantine_checkpoints,
    roll_back_checkpoints,
)
from trainer_hooks.commands.exporting import export_checkpoint
from trainer_hooks.commands.judging import list_checkpoints, verify_checkpoints

_ACTS = {
    "ls": list_checkpoints,
    "verify": verify_checkpoints,
    "rollback": roll_back_checkpoints,
    "quarantine": quarantine_checkpoints,
    "pin": pin_checkpoints,
    "gc": collect_garbage,
    "export": export_checkpoint,
}


def run_checkpoints(options: Namespace) -> int:
    """Run one of the commands and return its exit code.

    Raises:
        ConfigError: What was asked for makes no sense here.
        CheckpointError: It could not be done.
    """
    options.directory = place_of(options.directory)
    return _ACTS[options.act](options)
