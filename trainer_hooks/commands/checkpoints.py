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
from trainer_hooks.errors import CheckpointError, TrainerHooksError

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
    try:
        return _ACTS[options.act](options)
    except TrainerHooksError:
        raise
    except OSError as error:  # what no part of it takes for an answer: a store that has gone, say
        raise CheckpointError(f"{options.directory} cannot be used: {error}") from error
