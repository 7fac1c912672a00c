"""The start of an attempt, on all ranks together."""

from trainer_hooks.checkpoint.commit import start_attempt
from trainer_hooks.checkpoint.layout import Attempt
from trainer_hooks.checkpoint.place import Place
from trainer_hooks.errors import CheckpointError
from trainer_hooks.world import World


def start_together(root: Place, world: World) -> Attempt:
    """Let the coordinator start an attempt. All ranks call it.

    Raises:
        CheckpointError: What it has met; on all ranks.
    """
    attempt, failure = None, None
    if world.is_coordinator:
        try:
            attempt = start_attempt(root)
        except CheckpointError as error:
            failure = error
    attempt, failure = world.from_coordinator((attempt, failure))
    if attempt is None:
        raise failure or CheckpointError("rank 0 has started no attempt")
    return attempt
