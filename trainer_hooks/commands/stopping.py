"""``reprieve-trainer stop``: ask the run that is under way to stop, and see that it has heard."""

import json
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from trainer_hooks.checkpoint.place import Place, place_of
from trainer_hooks.checkpoint.stop_request import (
    ask,
    attempt_to_ask,
    heard_at,
    withdraw,
)
from trainer_hooks.commands.show import show
from trainer_hooks.errors import CheckpointError, ConfigError
from trainer_hooks.waste.left import has_left

LOOK_EVERY_S = 0.5
"""How often the command looks whether it was heard, in seconds."""

STARTING = (
    "a run whose ranks are still starting is not known here yet: ask again once its log says "
    "RESUMED or FRESH START, or send SIGTERM to its launchers"
)
"""The launcher does not know the directory, and a rank that still imports PyTorch says nothing."""

DONE = 0


def stop_run(options: Namespace, pause: Callable[[float], None] = time.sleep) -> int:
    """Ask the newest attempt to stop, and wait until it has heard.

    Raises:
        ConfigError: There is no such directory.
        CheckpointError: No run is under way there, or it has not heard in time; nothing is asked
            any more then.
    """
    root = place_of(options.directory)
    if not root.is_dir():
        raise ConfigError(f"{root} is no directory; {STARTING}")
    try:
        attempt = attempt_to_ask(root)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; {STARTING}") from error
    _refuse_if_over(root, attempt)
    ask(root, attempt, options.reason)
    try:
        step = _wait_until_heard(root, attempt, options.wait, pause)
    except BaseException:  # also of who has pressed Ctrl-C nothing is left to be heard later
        withdraw(root, attempt)
        # The run may have heard since it was looked at last, and nothing takes that back.
        heard = heard_at(root, attempt)
        if heard is None:
            raise
        step = heard
    if options.json:
        show(json.dumps({"directory": str(root), "attempt": attempt, "step": step}))
    else:
        show(
            f"attempt {attempt} of {root} has heard at step {step}: all its ranks stop at one "
            "step, save it, and its launchers exit with 75"
        )
    return DONE


def _wait_until_heard(
    root: Place, attempt: int, limit_s: float, pause: Callable[[float], None]
) -> int:
    waited_s = 0.0
    while (step := heard_at(root, attempt)) is None:
        _refuse_if_over(root, attempt)
        if waited_s >= limit_s:
            raise CheckpointError(
                f"attempt {attempt} of {root} has not heard for {limit_s:.0f} s, so it is asked no "
                "more: is it still alive, and does its rank 0 see this directory?"
            )
        pause(LOOK_EVERY_S)
        waited_s += LOOK_EVERY_S
    return step


def _refuse_if_over(root: Place, attempt: int) -> None:
    """Raise if the attempt has left in order, as its ledger says; one that was killed has not."""
    if isinstance(root, Path) and has_left(root, attempt):
        raise CheckpointError(
            f"no run is under way in {root}: attempt {attempt} has ended; {STARTING}"
        )
